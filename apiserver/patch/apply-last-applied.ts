import { parseExact } from '../../shared/api/json/exact-json.ts'
import { copy, isMap, type JsonMap } from '../values/json-map.ts'
import type { ManagedKind } from './managed-kind.ts'
import { ownableType } from './managed-kind.ts'
import { compare } from './structured-merge/compare.ts'
import { fieldSet } from './structured-merge/field-set.ts'
import { difference, type FieldsV1 } from './structured-merge/fields.ts'
import { goJson } from './structured-merge/path-element.ts'
import { schemaErrors } from './structured-merge/validate.ts'

const annotation = 'kubectl.kubernetes.io/last-applied-configuration'

type WithMeta = JsonMap & { metadata?: JsonMap }

const lastApplied = (object: WithMeta): string | undefined => {
  const text = isMap(object.metadata?.annotations) ? object.metadata.annotations[annotation] : undefined
  return typeof text === 'string' && text !== '' ? text : undefined
}

/**
 * Returns the fields that kubectl's client-side apply set, according to its annotation, and that the object still has
 * unchanged: `kubectl` may take them over. Returns undefined without an annotation that is a valid configuration of
 * this version.
 */
export function lastAppliedFields(kind: ManagedKind, live: WithMeta): FieldsV1 | undefined {
  const text = lastApplied(live)
  if (text === undefined) return undefined
  const config = parse(text)
  if (!config || config.apiVersion !== kind.apiVersion || schemaErrors(kind.type, config).length > 0) return undefined
  const type = ownableType(kind.type)
  const { added, modified, removed } = compare(type, config, live)
  return difference(difference(difference(fieldSet(type, config), modified), added), removed)
}

function parse(text: string): JsonMap | undefined {
  try {
    const value: unknown = parseExact(text)
    return isMap(value) ? value : undefined
  } catch {
    return undefined // not what kubectl wrote: nothing to take over
  }
}

/** An object that still carries kubectl's annotation gets it brought up to date. */
export function withLastApplied(object: WithMeta, config: WithMeta): WithMeta {
  if (lastApplied(object) === undefined) return object
  const applied: WithMeta = copy(config)
  if (isMap(applied.metadata?.annotations)) delete applied.metadata.annotations[annotation]
  const annotations = { ...(object.metadata?.annotations as JsonMap), [annotation]: `${goJson(sortKeys(applied))}\n` }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  )
}
