import { isMap, type JsonMap } from '../../values/json-map.ts'
import { formOf } from './form.ts'
import { OddValue, printSyntax, printType, printValue } from './go-print.ts'
import { ItemError, itemElement, printElement } from './path-element.ts'
import type { ListType, MapType, Scalar, Type } from './schema.ts'

/**
 * Returns what keeps a configuration from being of the type, each as `path: text`; an associative list may have each
 * key once. Returns an empty list for a valid configuration.
 */
export function schemaErrors(type: Type, value: JsonMap): string[] {
  const errors: string[] = []
  check(type, value, '', errors)
  return errors
}

const fail = (errors: string[], path: string, text: string): void => {
  errors.push(path === '' ? text : `${path}: ${text}`)
}

function check(type: Type, value: unknown, path: string, errors: string[]): void {
  if (value === null || value === undefined) return
  switch (formOf(type, value)) {
    case 'scalar':
      checkScalar(type.scalar!, value, path, errors)
      return
    case 'list':
      if (!Array.isArray(value)) fail(errors, path, `expected list, got &{${printValue(value)}}`)
      else checkItems(type.list!, value, path, errors)
      return
    case 'map':
      if (!isMap(value) || value instanceof OddValue) fail(errors, path, `expected map, got &{${printValue(value)}}`)
      else checkFields(type.map!, value, path, errors)
  }
}

function checkScalar(scalar: Scalar, value: unknown, path: string, errors: string[]): void {
  if (scalar === 'string' && typeof value !== 'string') {
    fail(errors, path, `expected string, got &value.valueUnstructured{Value:${printSyntax(value)}}`)
  } else if (scalar === 'numeric' && typeof value !== 'number' && typeof value !== 'bigint') {
    fail(errors, path, `expected numeric (int or float), got ${printType(value)}`)
  } else if (scalar === 'boolean' && typeof value !== 'boolean') {
    fail(errors, path, `expected boolean, got &{${printValue(value)}}`)
  } else if (scalar === 'untyped' && typeof value === 'object') {
    fail(errors, path, `expected any scalar, got &{${printValue(value)}}`)
  }
}

function checkItems(type: ListType, items: unknown[], path: string, errors: string[]): void {
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    let element = `i:${index}`
    if (!type.atomic) {
      try {
        element = itemElement(type, item)
      } catch (error) {
        if (!(error instanceof ItemError)) throw error
        fail(errors, path, `element ${index}: ${error.message}`)
        return
      }
      if (seen.has(element)) fail(errors, path, `duplicate entries for key ${printElement(element)}`)
      seen.add(element)
    }
    check(type.element, item, path + printElement(element), errors)
  }
}

/** Ends at the first unknown field. A real server finds the fields in a random order, mostly in that of their names. */
function checkFields(type: MapType, value: JsonMap, path: string, errors: string[]): void {
  for (const key of Object.keys(value).sort()) {
    const childType = type.fields.get(key)?.type ?? type.element
    if (!childType) {
      fail(errors, `${path}.${key}`, 'field not declared in schema')
      return
    }
    check(childType, value[key], `${path}.${key}`, errors)
  }
}
