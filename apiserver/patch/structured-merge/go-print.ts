import { isInt64 } from '../../../shared/api/json/exact-json.ts'

/** A value of Go that is not one of JSON: only messages show it. */
export class OddValue {
  readonly type: string
  /** Prints it as %v and as %#v do. */
  readonly text: string
  readonly syntax: string
  constructor(type: string, text: string, syntax: string) {
    this.type = type
    this.text = text
    this.syntax = syntax
  }
}

/** JSON values as Go's fmt prints them, for messages that quote what a client sent. */
export function printValue(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(printValue).join(' ')}]`
  if (value instanceof OddValue) return value.text
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
  if (value instanceof OddValue) return value.syntax
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
  if (value instanceof OddValue) return value.type
  if (typeof value === 'bigint') return isInt64(value) ? 'int64' : 'float64'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return (
    { string: 'string', boolean: 'bool', object: 'map[string]interface {}' }[typeof value as string] ?? typeof value
  )
}
