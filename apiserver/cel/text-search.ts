/** Searches a text in linear time: the engine's own search takes text times part for parts that repeat themselves. */

/** From this many comparisons on, the worst case is avoided. */
const LARGE = 1_000_000

export function indexIn(text: string, part: string, from = 0): number {
  if (text.length * part.length < LARGE) return text.indexOf(part, from)
  const [first = -1] = search(text, part, from, 1)
  return first
}

export function lastIndexIn(text: string, part: string, from = text.length): number {
  if (text.length * part.length < LARGE) return text.lastIndexOf(part, from)
  return search(text.slice(0, from + part.length), part, 0, Number.POSITIVE_INFINITY, true).at(-1) ?? -1
}

/** Where the part, which is not empty, stands in the text, side by side. */
export function occurrences(text: string, part: string, most = Number.POSITIVE_INFINITY): number[] {
  if (text.length * part.length >= LARGE) return search(text, part, 0, most)
  const found: number[] = []
  for (let at = text.indexOf(part); at >= 0 && found.length < most; at = text.indexOf(part, at + part.length))
    found.push(at)
  return found
}

/** Knuth, Morris and Pratt. */
function search(text: string, part: string, from: number, most = Number.POSITIVE_INFINITY, overlapping = false) {
  const found: number[] = []
  if (part.length > text.length - from) return found
  const borders = bordersOf(part)
  let matched = 0
  for (let at = from; at < text.length && found.length < most; at++) {
    while (matched > 0 && text.charCodeAt(at) !== part.charCodeAt(matched)) matched = borders[matched - 1]!
    if (text.charCodeAt(at) === part.charCodeAt(matched)) matched++
    if (matched < part.length) continue
    found.push(at - matched + 1)
    matched = overlapping ? borders[matched - 1]! : 0
  }
  return found
}

/** Returns, for each beginning of the part, the length of its longest proper beginning that it also ends with. */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length)
  for (let at = 1, matched = 0; at < part.length; at++) {
    while (matched > 0 && part.charCodeAt(at) !== part.charCodeAt(matched)) matched = borders[matched - 1]!
    if (part.charCodeAt(at) === part.charCodeAt(matched)) matched++
    borders[at] = matched
  }
  return borders
}
