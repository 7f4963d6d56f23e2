import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { destination, type Logger, pino } from 'pino'
import type { Level } from './levels.ts'

export type { Logger } from 'pino'

/** One JSON line per entry, appended to `file` (or to stdout) at once, so that nothing is lost when the process is killed. */
export function createLog(options: { file?: string; level: Level; component: string }): Logger {
  if (options.file) mkdirSync(dirname(options.file), { recursive: true, mode: 0o700 })
  const settings = { level: options.level, base: { component: options.component } }
  return pino(settings, destination({ dest: options.file ?? 1, sync: true, append: true }))
}
export { type Level, levels } from './levels.ts'
