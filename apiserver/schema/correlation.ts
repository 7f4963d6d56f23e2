import { isObject, type JSONSchemaProps } from './json-schema.ts'
import { identityOf, sortedJson } from './list-types.ts'
import type { SchemaWork } from './schema-work.ts'

/**
 * The old item that a new one descends from: only lists of type map have such. The old list is read once, when asked.
 */
export function correlation(schema: JSONSchemaProps, old: unknown, work?: SchemaWork): (item: unknown) => unknown {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  if (!Array.isArray(old) || schema['x-kubernetes-list-type'] !== 'map' || keys.length === 0) return () => undefined
  const identity = identityOf(schema)!
  const keyOf = (item: object): string => {
    work?.spend(keys.length)
    return sortedJson(identity(item))
  }
  let known: Map<string, unknown> | undefined
  return (item) => {
    if (!isObject(item)) return undefined
    // The first of several that have the same keys counts.
    known ??= new Map(
      old
        .toReversed()
        .filter(isObject)
        .map((other) => [keyOf(other), other]),
    )
    return known.get(keyOf(item))
  }
}
