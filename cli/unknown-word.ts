import { nearest } from '../shared/config/nearest.ts'
import { UsageError } from '../shared/config/option.ts'

/** `kubestage node shutdwon`: the second word means nothing. */
export function unknownWord(command: string, word: string, known: readonly string[]): UsageError {
  const near = nearest(word, known)
  return new UsageError(
    `${command} has no "${word}"${near ? `; did you mean ${near}?` : ''} (kubestage ${command} --help lists all)`,
  )
}
