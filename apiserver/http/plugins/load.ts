import { readFileSync, statSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Clock } from '../../../shared/clock/clock.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import type { ClusterPlugin, NamedPlugin } from './plugin.ts'
import { pluginError } from './plugin-error.ts'

const patienceMs = 10_000

/**
 * Loads plugins, each by the path of a file (of JavaScript, or of TypeScript whose types Node strips) or the name of a
 * package, as seen from the folder. Rejects with a ConfigError that names the plugin that cannot be loaded.
 */
export async function loadPlugins(
  names: readonly string[],
  { folder, clock }: { folder: string; clock: Clock },
): Promise<NamedPlugin[]> {
  const plugins: NamedPlugin[] = []
  for (const name of names) plugins.push(await load(name, { folder, clock }))
  return plugins
}

async function load(given: string, { folder, clock }: { folder: string; clock: Clock }): Promise<NamedPlugin> {
  const name = `plugin ${given}`
  const path = resolve(folder, given)
  const file = isFile(path) ? path : undefined
  if (!file && /^[./]/.test(given)) throw new ConfigError(`${name}: ${path} does not exist`)
  const late = Promise.withResolvers<never>()
  const timer = clock.setTimer(patienceMs, () =>
    late.reject(pluginError(name, `was not loaded after ${patienceMs / 1000} s: a top-level await does not end`)),
  )
  try {
    const module = await Promise.race([
      file ? import(pathToFileURL(file).href) : importFrom(folder, given),
      late.promise,
    ])
    const plugin = defaultOf(module)
    if (typeof plugin !== 'function') throw pluginError(name, notAPlugin(module))
    return { name, file, plugin: plugin as ClusterPlugin }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const isMissing = !file && (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
    if (isMissing && String((error as Error).message).includes(`'${packageOf(given)}'`))
      throw new ConfigError(`${name}: neither ${path} nor a package of this name exists`)
    throw pluginError(name, 'cannot be loaded', file ? withLine(error, file) : error, file)
  } finally {
    timer.cancel()
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/** Returns the default export, which a compiler puts one level lower in a module of CommonJS. */
function defaultOf(module: Record<string, unknown>): unknown {
  const { default: given } = module
  return typeof given === 'object' && given !== null && 'default' in given ? given.default : given
}

function notAPlugin(module: Record<string, unknown>): string {
  const exported = Object.keys(module).join(', ') || 'nothing'
  return `must export a function as default (export default async (app) => { … }); it exports ${exported}`
}

/** Adds the line of a mistake. Node only prints that of JavaScript; its parser of TypeScript tells it. */
function withLine(error: unknown, file: string): unknown {
  if (!(error instanceof SyntaxError) || error.stack?.includes(`${file}:`)) return error
  // That the parser is experimental.
  process.removeAllListeners('warning')
  try {
    stripTypeScriptTypes(readFileSync(file, 'utf8'), { sourceUrl: file })
  } catch (located) {
    error.stack = (located as Error).stack
  }
  return error
}

/** `@scope/name/file` → `@scope/name`. */
const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')

/** Imports as a file of the folder would. */
async function importFrom(folder: string, specifier: string): Promise<Record<string, unknown>> {
  const parentURL = pathToFileURL(join(folder, 'kubestage.yaml')).href
  const hooks = registerHooks({
    resolve: (asked, context, next) => next(asked, asked === specifier ? { ...context, parentURL } : context),
  })
  try {
    return await import(specifier)
  } finally {
    hooks.deregister()
  }
}
