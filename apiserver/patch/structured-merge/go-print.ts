import { isInt64 } from '../../../shared/api/json/exact-json.ts'
/** JSON values as Go's fmt prints them, for messages that quote what a client sent. */
export function printValue(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(printValue).join(' ')}]`
  if (typeof value === 'object') {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `map[${entries.map(([key, item]) => `${key}:${printValue(item)}`).join(' ')}]`
  }
  return String(value)
}

/** Prints a value in Go's syntax, as %#v does. */
export function printSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)'
  if (Array.isArray(value)) return `[]interface {}{${value.map(printSyntax).join(', ')}}`
  if (typeof value === 'object') {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `map[string]interface {}{${entries.map(([key, item]) => `${JSON.stringify(key)}:${printSyntax(item)}`).join(', ')}}`
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

/** Prints the Go type that decoding the JSON value gives, as %T does. */
export function printType(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'bigint') return isInt64(value) ? 'int64' : 'float64'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return (
    { string: 'string', boolean: 'bool', object: 'map[string]interface {}' }[typeof value as string] ?? typeof value
  )
}
