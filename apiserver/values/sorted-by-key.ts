/** Returns a map as Go prints it, and keeps it in JSON: by its keys. */
export const sortedByKey = <Value>(map: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))
