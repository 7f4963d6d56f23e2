import { readInputText } from './input.ts'
import { ConfigError, UsageError } from './option.ts'
import { whyRefused } from './system-errors.ts'

/** Returns the text of a file that the command line names. Throws a UsageError if the file cannot be read. */
export function readNamedFile(file: string, ifMissing = 'no such file'): string {
  try {
    return readInputText(file)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new UsageError(`${file}: ${isMissing ? ifMissing : `cannot be read: ${whyRefused(error as Error)}`}`)
  }
}
