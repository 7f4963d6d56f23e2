/** Holds a write's key, and the value that the key had before the write. */
export interface Before<Value> {
  readonly key: string
  readonly previous?: Value | undefined
}

/** Returns the state of `values` (in key order) before `events` (oldest first) happened. */
export function rewind<Value extends { readonly key: string }>(
  values: Value[],
  events: readonly Before<Value>[],
  { prefix, startAfter }: { prefix: string; startAfter?: string },
): Value[] {
  const before = new Map<string, Value | undefined>()
  for (const { key, previous } of events) {
    if (!key.startsWith(prefix) || before.has(key) || (startAfter !== undefined && key <= startAfter)) continue
    before.set(key, previous)
  }
  if (before.size === 0) return values
  const kept = values.filter(({ key }) => !before.has(key))
  for (const value of before.values()) if (value) kept.push(value)
  return kept.sort((a, b) => (a.key < b.key ? -1 : 1))
}
