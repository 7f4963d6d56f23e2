/** Where each version of a program costs half a minute, the suite takes some; `VERSIONS=all` takes every one. */
const every = process.env.VERSIONS === 'all'

/** Of versions in their order: the first, the one in the middle, and the last. */
export function endsAndMiddle<T>(versions: readonly T[]): T[] {
  if (every) return [...versions]
  return [...new Set([versions[0], versions[versions.length >> 1], versions.at(-1)])].filter((one) => one !== undefined)
}

/** The last one. */
export const newest = <T>(versions: readonly T[]): T[] => (every ? [...versions] : versions.slice(-1))
