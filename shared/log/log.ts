import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { destination, type Logger, pino } from 'pino'
import type { Level } from './levels.ts'

export type { Logger } from 'pino'

/** Describes the part of a logger that the program uses. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

/** A full disk makes the log keep up to this many bytes of lines until there is room; further lines are lost. */
const maxKept = 1 << 20

/**
 * Creates a log that appends one JSON line per entry to `file` (or to stdout) at once, so that no entry is lost if the
 * process is killed. A line that cannot be written ends nothing.
 */
export function createLog(options: { file?: string; level: Level; component: string }): Logger {
  if (options.file) mkdirSync(dirname(options.file), { recursive: true, mode: 0o700 })
  const settings = { level: options.level, base: { component: options.component } }
  const lines = destination({ dest: options.file ?? 1, sync: true, append: true, mode: 0o600, maxLength: maxKept })
  lines.on('error', () => {})
  return pino(settings, lines)
}
export { type Level, levels } from './levels.ts'
