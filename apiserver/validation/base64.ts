/**
 * Base64 as Go's standard encoding reads it: padded, line breaks allowed, any other stray character an error that names
 * its place.
 */

const canonical = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/
const digit = /[A-Za-z0-9+/]/

export function canonicalBase64(text: string): string {
  if (canonical.test(text)) return text
  const bad = corruptAt(text)
  if (bad >= 0) throw new Error(`illegal base64 data at input byte ${bad}`)
  return Buffer.from(text, 'base64').toString('base64')
}

const isBreak = (character: string | undefined) => character === '\n' || character === '\r'

/** Offset that Go reports, or -1 for good data: an incomplete group is blamed on its first digit. */
function corruptAt(text: string): number {
  let at = 0
  for (;;) {
    let digits = 0
    const start = at
    while (digits < 4) {
      if (at === text.length) return digits === 0 ? -1 : at - digits
      const character = text[at++]
      if (isBreak(character)) continue
      if (character !== undefined && digit.test(character)) {
        digits++
        continue
      }
      if (character !== '=') return at - 1
      if (digits < 2) return at - 1
      if (digits === 2) {
        while (isBreak(text[at])) at++
        if (at === text.length) return text.length
        if (text[at] !== '=') return at - 1
        at++
      }
      while (isBreak(text[at])) at++
      return at < text.length ? at : -1
    }
    if (at === start) return -1
  }
}
