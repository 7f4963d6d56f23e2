import { readRegularFile } from '../../shared/files/regular-file.ts'

/**
 * `; its last words: … (FILE)` of a program that writes its log there, in plain lines or pino's JSON. A Node that is
 * refused a thread writes nothing. A cluster that does not start may take its folder with it, and the file with it.
 */
export function lastWords(logFile: string): string {
  const all = lines(logFile)
  // A crash of Node prints its reason first, then a stack.
  const last = all.findLast((line) => /^# Fatal|pthread_create:/.test(line)) ?? all.at(-1)
  return last === undefined ? `; it wrote nothing to ${logFile}` : `; its last words: ${wordsOf(last)} (${logFile})`
}

function lines(file: string): string[] {
  try {
    return readRegularFile(file).split('\n').filter(Boolean)
  } catch {
    return []
  }
}

function wordsOf(line: string): string {
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } }
    return [msg, err?.message].filter(Boolean).join(': ')
  } catch {
    return line.trim()
  }
}
