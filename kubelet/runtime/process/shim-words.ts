/** A line of words for the shim: tabs between them, whatever they contain. */
export const encodeWords = (words: string[]): string => `${words.map(encode).join('\t')}\n`
export const decodeWords = (line: string): string[] => line.split('\t').map(decode)

const encode = (word: string): string => (/[%\t\n]/.test(word) ? word.replace(/[%\t\n]/g, encodeURIComponent) : word)
const decode = (word: string): string => word.replace(/%(09|0A|25)/g, (code) => decodeURIComponent(code))
