/** Items by name; of several with one name the first. A patch may have made a list null. */
export const byName = <T extends { name: string }>(items: readonly T[] | null | undefined): Map<string, T> =>
  new Map((items ?? []).toReversed().map((item) => [item.name, item]))
