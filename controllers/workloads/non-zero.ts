/** A status as it is stored: counts that are 0 are not written. */
export const nonZero = <T extends Record<string, number | undefined>>(counts: T): Partial<T> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count)) as Partial<T>
