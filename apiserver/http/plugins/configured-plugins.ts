import { dirname, resolve } from 'node:path'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { Origin } from '../../../shared/config/resolve.ts'
import type { NamedPlugin } from './plugin.ts'

interface Configured {
  values: { plugin: readonly string[] }
  origins: { plugin: Origin }
  file?: string
}

/** The plugins that options name: relative to the config file where they stand there, else to the working directory. */
export async function configuredPlugins({ values, origins, file }: Configured, clock: Clock): Promise<NamedPlugin[]> {
  if (values.plugin.length === 0) return []
  const { loadPlugins } = await import('./load.ts')
  const folder = origins.plugin === 'config file' && file ? dirname(file) : '.'
  return loadPlugins(values.plugin, { folder: resolve(folder), clock })
}
