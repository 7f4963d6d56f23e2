/** Holds a write's key, and the value that the key had before the write. */
export interface Before<Value> {
  readonly key: string
  readonly previous?: Value | undefined
}

/** Maps the keys after `startAfter` that `events` (oldest first) wrote to the values before; undefined: there was none. */
export function overwritten<Value>(
  events: readonly Before<Value>[],
  { prefix, startAfter }: { prefix: string; startAfter?: string },
): Map<string, Value | undefined> {
  const before = new Map<string, Value | undefined>()
  for (const { key, previous } of events) {
    if (!key.startsWith(prefix) || before.has(key) || (startAfter !== undefined && key <= startAfter)) continue
    before.set(key, previous)
  }
  return before
}

/** Returns `values`, in key order, with those of `before` in place of what was written since. */
export function rewind<Value extends { readonly key: string }>(
  values: Value[],
  before: ReadonlyMap<string, Value | undefined>,
): Value[] {
  if (before.size === 0) return values
  const kept = values.filter(({ key }) => !before.has(key))
  for (const value of before.values()) if (value) kept.push(value)
  return kept.sort((a, b) => (a.key < b.key ? -1 : 1))
}
