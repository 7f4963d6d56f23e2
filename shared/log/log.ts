import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { destination, type Level, type Logger, pino } from 'pino'

export type { Level, Logger } from 'pino'
export const levels = ['trace', 'debug', 'info', 'warn', 'error'] as const satisfies readonly Level[]

/** One JSON line per entry, appended to `file` at once, so that nothing is lost when the process is killed. */
export function createLog(options: { file: string; level: Level; component: string }): Logger {
  mkdirSync(dirname(options.file), { recursive: true, mode: 0o700 })
  const settings = { level: options.level, base: { component: options.component } }
  return pino(settings, destination({ dest: options.file, sync: true, append: true }))
}
