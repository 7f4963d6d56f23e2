/** A function of values that remembers what it has found about frozen ones, which can never be anything else. */
export function remembered<Value extends object, Found>(find: (value: Value) => Found): (value: Value) => Found {
  const known = new WeakMap<Value, Found>()
  return (value) => {
    const before = known.get(value)
    if (before !== undefined) return before
    const found = find(value)
    if (Object.isFrozen(value)) known.set(value, found)
    return found
  }
}
