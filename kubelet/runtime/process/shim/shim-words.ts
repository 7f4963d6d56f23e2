/** A line of words for the shim: tabs between them, whatever they contain. */
export const encodeWords = (words: string[]): string => `${words.map(encode).join('\t')}\n`
/**
 * A request ends with a dot, which no word of it is: a line that was cut after one is not taken for a shorter request.
 */
export const encodeRequest = (words: string[]): string => `${encodeWords(words).slice(0, -1)}\t.\n`
export const decodeWords = (line: string): string[] => line.split('\t').map(decode)

const encode = (word: string): string => {
  if (word === '.') return '%2E'
  return /[%\t\n]/.test(word) ? word.replaceAll('%', '%25').replaceAll('\t', '%09').replaceAll('\n', '%0A') : word
}
const decode = (word: string): string => word.replace(/%(09|0A|25|2E)/g, (code) => decodeURIComponent(code))
