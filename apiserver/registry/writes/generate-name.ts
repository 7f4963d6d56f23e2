/** Upstream's alphabet has no vowels and no letters that look alike, so that generated names contain no words. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'
const suffixLength = 5
const maxBaseLength = 63 - suffixLength

/** Appends a random suffix to the base. `random` returns numbers from 0 up to 1, exclusive. */
export function generateName(base: string, random: () => number): string {
  let suffix = ''
  for (let i = 0; i < suffixLength; i++) suffix += alphabet[Math.floor(random() * alphabet.length)]
  return base.slice(0, maxBaseLength) + suffix
}
