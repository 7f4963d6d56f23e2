import { additionalOf, isObject, itemsOf, type JSONSchemaProps, META_FIELDS, ownProperty } from './json-schema.ts'

/** Bounds all paths together. More would take long to sort: each may begin with a key as long as the body. */
const mostSorted = 16 * 1024 * 1024

/**
 * Removes, in place, what the schema does not specify. The result names what was removed, sorted, as strict decoding
 * reports it: `spec.list[0].name`. `root`: the value is a whole object, so that apiVersion, kind and metadata stay.
 */
export function prune(value: unknown, schema: JSONSchemaProps | undefined, options: { root?: boolean } = {}): string[] {
  const removed: string[] = []
  const root =
    options.root === true && schema !== undefined ? { ...schema, 'x-kubernetes-embedded-resource': true } : schema
  pruneValue(value, root, '', removed)
  const characters = removed.reduce((sum, path) => sum + path.length, 0)
  return characters > mostSorted ? removed : removed.sort()
}

function pruneValue(value: unknown, schema: JSONSchemaProps | undefined, path: string, removed: string[]): void {
  if (Array.isArray(value)) pruneItems(value, schema, path, removed)
  if (!isObject(value)) return
  for (const key of Object.keys(value)) {
    if (schema?.['x-kubernetes-embedded-resource'] === true && META_FIELDS.has(key)) continue
    const child = childOf(schema, key)
    if (child !== undefined) pruneValue(value[key], child.schema, join(path, key), removed)
    else if (schema?.['x-kubernetes-preserve-unknown-fields'] !== true) {
      removed.push(join(path, key))
      delete value[key]
    }
  }
}

function pruneItems(items: unknown[], schema: JSONSchemaProps | undefined, path: string, removed: string[]): void {
  const itemSchema = itemsOf(schema)
  if (itemSchema === undefined && schema?.['x-kubernetes-preserve-unknown-fields'] === true) return
  for (const [index, item] of items.entries()) pruneValue(item, itemSchema, `${path}[${index}]`, removed)
}

/** Returns what the schema says of a key; undefined if the key is unknown. */
function childOf(
  schema: JSONSchemaProps | undefined,
  key: string,
): { schema: JSONSchemaProps | undefined } | undefined {
  if (schema === undefined) return undefined
  const property = ownProperty(schema.properties, key)
  if (property !== undefined) return { schema: property }
  return schema.additionalProperties === undefined || schema.additionalProperties === false
    ? undefined
    : { schema: additionalOf(schema) }
}

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)
