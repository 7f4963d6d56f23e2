/** Upstream: plugin/policy/mutating/patch/smd.go. */
import { MadeObject } from '../../cel/values.ts'
import { mergeSharing } from '../../patch/structured-merge/merge.ts'
import type { Type } from '../../patch/structured-merge/schema.ts'
import { schemaErrors } from '../../patch/structured-merge/validate.ts'
import { isMap, type JsonMap } from '../../values/json-map.ts'
import { ConfigurationValues } from './native-value.ts'
import { PatchProblem } from './patch-problem.ts'

/**
 * Returns the object with the configuration that an expression has made laid over it. `type` is undefined for a kind
 * without a schema.
 */
export function applyConfiguration(
  made: MadeObject,
  live: JsonMap,
  type: Type | undefined,
  maxValues: number,
): JsonMap {
  const { apiVersion, kind } = live
  const config = { ...new ConfigurationValues(maxValues).object(made), apiVersion, kind }
  checkNames(made)
  if (!type)
    throw failed(`failed to convert patch object to typed object: no corresponding type for ${printKind(live)}`)
  const errors = schemaErrors(type, config)
  if (errors.length > 0) throw failed(`failed to convert patch object to typed object: ${printErrors(errors)}`)
  const atomics = atomicPaths(type, config, '')
  if (atomics.length > 0)
    throw failed(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`)
  return mergeSharing(type, live, config)
}

const failed = (why: string): PatchProblem => new PatchProblem(`error applying patch: ${why}`)
const printErrors = (errors: readonly string[]): string =>
  errors.length === 1 ? errors[0]! : `errors:\n${errors.map((error) => `  ${error}`).join('\n')}`
export const printKind = ({ apiVersion, kind }: JsonMap): string =>
  `${String(apiVersion).includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`

/**
 * Throws a PatchProblem unless the name of each object's type is the path to it: `Object.spec` stands in the field
 * `spec` of `Object`. Takes long for values that share parts: those are refused as too large before.
 */
export function checkNames(made: MadeObject): void {
  const wrong = wrongNames(made, made.type.name)
  if (wrong.length > 0) throw new PatchProblem(`type mismatch: ${wrong.join('\n')}`)
}
function wrongNames(value: unknown, path: string): string[] {
  if (value instanceof MadeObject) {
    const { name } = value.type
    const fields = [...value.fields].flatMap(([field, inner]) => wrongNames(inner, `${path}.${field}`))
    return name === path ? fields : [misnamed(name, path), ...fields]
  }
  if (Array.isArray(value)) return value.flatMap((item) => wrongNames(item, path))
  return value instanceof Map ? [...value.values()].flatMap((item) => wrongNames(item, path)) : []
}
const misnamed = (name: string, path: string): string =>
  `unexpected type name ${JSON.stringify(name)}, expected ${JSON.stringify(path)}, which matches field name path from root Object type`

/** Paths of what would be replaced as a whole: the author may have meant to change a part of it. */
function atomicPaths({ map, list }: Type, value: unknown, path: string): string[] {
  if (Array.isArray(value) && list) {
    const inner = value.flatMap((item, index) => atomicPaths(list.element, item, `${path}[${index}]`))
    return list.atomic ? [path, ...inner] : inner
  }
  if (!isMap(value) || !map) return []
  const inner = Object.entries(value).flatMap(([key, item]) => {
    const field = map.fields.get(key)
    return field ? atomicPaths(field.type, item, `${path}.${key}`) : []
  })
  return map.atomic ? [path, ...inner] : inner
}
