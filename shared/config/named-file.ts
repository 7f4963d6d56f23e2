import { readInputText } from '../../shared/config/input.ts'
import { ConfigError, UsageError } from '../../shared/config/option.ts'
import { whyRefused } from '../../shared/config/system-errors.ts'

/** Returns the text of a file that the command line names. Throws a UsageError if the file cannot be read. */
export function readNamedFile(file: string): string {
  try {
    return readInputText(file)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      code === 'ENOENT' ? `${file}: no such file` : `${file}: cannot be read: ${whyRefused(error as Error)}`,
    )
  }
}
