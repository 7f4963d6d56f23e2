/**
 * Returns the name that Go's decoder has for the type of a JSON value in its errors: `array`, `bool`, `null`, `number`,
 * `object`, `string`.
 */
export function jsonWord(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (value === null) return 'null'
  const type = typeof value
  return type === 'boolean' ? 'bool' : type === 'bigint' || type === 'symbol' ? 'number' : type
}
