/** Every field of every kind, for tests of a rule that holds for all of them. */
import type { ResourceDefinition } from '../../apiserver/kind/resource-definition.ts'
import { hasStructType, structType, type ValueType } from '../../openapi/types.ts'

/** Names of fields from the top of an object; `0` is the first item of a list. */
export type FieldPath = readonly string[]
export interface KindField {
  path: FieldPath
  type: ValueType
}

/** Those of a kind; with a `seen` for several kinds, each field of each struct comes once for all of them. */
export function fieldsOf(schema: string, seen = new Set<string>(), path: FieldPath = []): KindField[] {
  if (!hasStructType(schema)) return []
  return structType(schema).fields.flatMap(({ name, type }) => {
    const key = `${schema}.${name}`
    if (seen.has(key)) return []
    seen.add(key)
    const here = [...path, name]
    const inner = type.item ?? type
    const below = inner.kind === 'object' && inner.ref
    return [{ path: here, type }, ...(below ? fieldsOf(below, seen, type.item ? [...here, '0'] : here) : [])]
  })
}

/** A kind's example under a name of its own, with a value at a path; what is missing on the way is made. */
export function exampleWith(
  { example, namespaced }: ResourceDefinition,
  name: string,
  { path, value }: { path: FieldPath; value: unknown },
): Record<string, unknown> {
  const object = structuredClone(example) as unknown as Record<string, unknown>
  Object.assign(object.metadata as object, { name }, namespaced && { namespace: 'default' })
  setAt(object, path, value)
  return object
}

function setAt(object: Record<string, unknown>, [name = '', ...rest]: FieldPath, value: unknown): void {
  if (rest.length === 0) object[name] = value
  else if (rest[0] === '0') {
    const [first = {}] = (object[name] as object[] | undefined) ?? []
    object[name] = [first]
    if (rest.length > 1) setAt(first as Record<string, unknown>, rest.slice(1), value)
  } else {
    object[name] ??= {}
    setAt(object[name] as Record<string, unknown>, rest, value)
  }
}
