/** Tells of one value after the other whether it was there before. */
export function repetition(): (value: unknown) => boolean {
  const seen = new Set<unknown>()
  return (value) => seen.size === seen.add(value).size
}
