/** Upstream's alphabet: no vowels and nothing that looks like something else, so that no word comes out. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
const suffixLength = 5
const maxBaseLength = 63 - suffixLength

/** `random` gives numbers from 0 up to 1. */
export function generateName(base: string, random: () => number): string {
  let suffix = ''
  for (let i = 0; i < suffixLength; i++) suffix += alphabet[Math.floor(random() * alphabet.length)]
  return base.slice(0, maxBaseLength) + suffix
}
