/**
 * A text taken apart at blanks as a shell does it: what stands in quotes stays together, and `\` takes a character as
 * it is. Throws an Error for a quote without an end.
 */
export function splitWords(text: string): string[] {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? ''
    if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (character === "'" || character === '"') {
      const { inside, end } = quoted(text, at)
      word = (word ?? '') + inside
      at = end
    } else if (character === '\\' && at + 1 < text.length) {
      word = (word ?? '') + text[++at]
    } else {
      word = (word ?? '') + character
    }
  }
  return word === undefined ? words : [...words, word]
}

/** Between single quotes everything is itself; between double ones `\"` and `\\` are not. */
function quoted(text: string, start: number): { inside: string; end: number } {
  const quote = text[start]
  let inside = ''
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at] ?? ''
    if (character === quote) return { inside, end: at }
    if (quote === '"' && character === '\\' && /["\\]/.test(text[at + 1] ?? '')) inside += text[++at]
    else inside += character
  }
  throw new Error(`must be a command with closed quotes, not ${JSON.stringify(text)}`)
}
