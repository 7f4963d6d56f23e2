import { PROGRAM_BYTES, WORD_BYTES } from '../../../pod/expansion.ts'

const pointerBytes = 8

/**
 * Returns a container runtime's message if Linux would refuse to execute a program because its arguments and variables
 * are too long, else undefined.
 */
export function whyTooLong(command: readonly string[], env: Readonly<Record<string, string>>): string | undefined {
  let bytes = 0
  const isTooLong = (what: string, word: string): string | undefined => {
    const wordBytes = Buffer.byteLength(word) + 1
    bytes += wordBytes + pointerBytes
    return wordBytes > WORD_BYTES ? tooLong(command, `${what} has more than ${WORD_BYTES} bytes`) : undefined
  }
  for (const [index, word] of command.entries()) {
    const problem = isTooLong(`argument ${index}`, word)
    if (problem) return problem
  }
  for (const [name, value] of Object.entries(env)) {
    const problem = isTooLong(`the variable ${name.slice(0, shownNameLength)}`, `${name}=${value}`)
    if (problem) return problem
  }
  if (bytes <= PROGRAM_BYTES) return undefined
  return tooLong(command, `its words and variables have more than ${PROGRAM_BYTES} bytes`)
}

const shownNameLength = 100

export const tooLong = ([name = '']: readonly string[], why: string): string =>
  `exec: ${JSON.stringify(name.slice(0, shownNameLength))}: argument list too long: ${why}`
