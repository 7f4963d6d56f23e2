import { nearest } from '../../shared/config/nearest.ts'
import { UsageError } from '../../shared/config/option.ts'

/** Returns the error for a subcommand that does not exist, such as `kubestage node shutdwon`. */
export function unknownWord(command: string, word: string, known: readonly string[]): UsageError {
  const near = nearest(word, known)
  return new UsageError(
    `unknown argument "${word}" of kubestage ${command}${near ? `; did you mean ${near}?` : ''} (kubestage ${command} --help lists all)`,
  )
}
