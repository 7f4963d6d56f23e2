/** Items by name; of several with one name the first. */
export const byName = <T extends { name: string }>(items: readonly T[] = []): Map<string, T> =>
  new Map(items.toReversed().map((item) => [item.name, item]))
