/** Odd values for each field of each kind: what a create of it is asked, by a dry run. */
import { createHash } from 'node:crypto'
import type { ResourceDefinition } from '../../../apiserver/kind/resource-definition.ts'
import { resources } from '../../../apiserver/resources/index.ts'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { KubeObject } from '../../../shared/api/types.ts'

export interface Schema {
  $ref?: string
  type?: string
  format?: string
  items?: Schema
  properties?: { [name: string]: Schema }
  additionalProperties?: Schema
}
export type Definitions = { readonly [name: string]: Schema }

export interface Case {
  /** `pods/v1`, with the group where it is not the core one. */
  kind: string
  /** `spec.containers.0.image` */
  path: string
  /** Which of the values of the field's type. */
  index: number
  url: string
  body: object
}

const word = 'a'.repeat(300)
const texts = ['', 'x', 'UPPER_case!', '-1', word, null, 5, {}]
const numbers = [0, -1, 1, 100_000, 2 ** 31, '5', null, 1.5]
const intsOrTexts = [0, -1, '', '50%', '-1%', 'x', '101%', null, {}]
const times = ['', 'x', '2026-01-01T00:00:00Z', null, 5]

export class Cases {
  readonly #fields: Fields
  constructor(definitions: Definitions) {
    this.#fields = new Fields(definitions)
  }

  *all(): Generator<Case> {
    for (const kind of this.#fields.kinds()) {
      for (const { path, values } of this.#fields.of(kind)) {
        if (path[0] === 'status') continue
        for (const [index, value] of values.entries()) yield caseOf(kind, path, index, value)
      }
    }
  }
}

/** A field of a kind: its path, with `0` for the first of a list, and odd values for it. */
export interface Field {
  path: string[]
  values: unknown[]
  /** One of its type. */
  sample: unknown
}

export class Fields {
  readonly #definitions: Definitions
  constructor(definitions: Definitions) {
    this.#definitions = definitions
  }

  kinds(): ResourceDefinition[] {
    return resources.filter(
      ({ schema, virtual, example, plural }) =>
        this.#definitions[schema] && !virtual && example && plural !== 'terminations',
    )
  }

  of(kind: ResourceDefinition): Generator<Field> {
    return this.#under(kind, this.#definitions[kind.schema] ?? {}, [])
  }

  *#under(kind: ResourceDefinition, schema: Schema, above: string[]): Generator<Field> {
    for (const [name, field] of Object.entries(this.#resolve(schema).properties ?? {})) {
      const path = [...above, name]
      if (!isAsked(kind, path)) continue
      const resolved = this.#resolve(field)
      yield { path, values: this.#values(resolved), sample: this.#fitting(resolved) }
      const item = resolved.items && this.#resolve(resolved.items)
      if (item?.properties) yield* this.#under(kind, item, [...path, '0'])
      else if (resolved.properties) yield* this.#under(kind, resolved, path)
    }
  }

  #resolve(schema: Schema): Schema {
    return schema.$ref ? (this.#definitions[schema.$ref.replace('#/definitions/', '')] ?? {}) : schema
  }

  #values(schema: Schema): unknown[] {
    if (schema.format === 'int-or-string') return intsOrTexts
    switch (schema.type) {
      case 'string':
        return schema.format === 'date-time' ? times : texts
      case 'integer':
        return numbers
      case 'number':
        return [0, -1, 1.5, 'x', null]
      case 'boolean':
        return [true, false, 'true', null]
      case 'array': {
        const one = this.#sample(schema.items)
        return [[], null, {}, [one], [one, one], [null], ['']]
      }
      default: {
        if (!schema.additionalProperties) return [{}, null, 'x', []]
        const one = this.#sample(schema.additionalProperties)
        return [{}, null, [], { a: one }, { 'A B': one }, { '': one }, { 'x.io/y/z': one }, { a: null }]
      }
    }
  }

  #fitting(schema: Schema): unknown {
    const { type, format, items, additionalProperties } = schema
    if (format === 'date-time') return times[2]
    if (type === 'array') return [this.#sample(items)]
    if (type === 'boolean') return true
    return additionalProperties ? { a: this.#sample(additionalProperties) } : this.#sample(schema)
  }

  #sample(schema: Schema | undefined): unknown {
    const { type } = schema ? this.#resolve(schema) : {}
    return type === 'string' ? 'x' : type === 'integer' ? 1 : {}
  }
}

const MAX_DEPTH = 6
/** Pods are looked at deeper, and then not in each template again. */
function isAsked({ plural }: ResourceDefinition, path: string[]): boolean {
  if (path.length === 1 && ['apiVersion', 'kind'].includes(path[0]!)) return false
  if (path[0] === 'metadata' && path[1] === 'managedFields') return false
  if (plural === 'pods') return path.length <= MAX_DEPTH + 1
  const template = path.indexOf('template')
  return path.length <= MAX_DEPTH && (template === -1 || path.length <= template + 2)
}

function caseOf(kind: ResourceDefinition, path: string[], index: number, value: unknown): Case {
  const body = exampleOf(kind)
  setAt(body, path, value)
  return {
    kind: `${kind.plural}/${apiVersionOf(kind)}`,
    path: path.join('.'),
    index,
    url: `${collectionOf(kind)}?dryRun=All&fieldValidation=Strict`,
    body,
  }
}

export function collectionOf(kind: ResourceDefinition): string {
  const { group, plural, namespaced } = kind
  return `${group ? '/apis/' : '/api/'}${apiVersionOf(kind)}${namespaced ? '/namespaces/default' : ''}/${plural}`
}

/** Its own, to be changed. */
export const exampleOf = (kind: ResourceDefinition): KubeObject => ({
  ...structuredClone(kind.example),
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
})

export function setAt(object: object, path: string[], value: unknown): void {
  let at = object as Record<string, unknown>
  for (const [index, step] of path.slice(0, -1).entries()) {
    at[step] ??= path[index + 1] === '0' ? [{}] : {}
    at = at[step] as Record<string, unknown>
  }
  at[path.at(-1)!] = value
}

/** What differs between two servers that answer the same. */
const ownToServer = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'lastTransitionTime',
  'lastUpdateTime',
  'lastPhaseTransitionTime',
  'clusterIP',
  'clusterIPs',
  'username',
  'authentication.kubernetes.io/credential-id',
])
const uids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const tokenVolumes = /kube-api-access-[a-z0-9]{5}/g

/**
 * Status, warnings and body, without what is the server's own, in an order that does not depend on it. `kept` names
 * what is left in all the same.
 */
export function normalize(status: number, warning: string | undefined, body: unknown, kept: string[] = []): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted)
    if (value === null || typeof value !== 'object') return value
    const entries = Object.entries(value).filter(([name]) => !ownToServer.has(name) || kept.includes(name))
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => [name, sorted(of)]))
  }
  return JSON.stringify([status, warning, sorted(body)]).replaceAll(uids, 'UID').replaceAll(tokenVolumes, 'TOKEN')
}

export const digest = (answer: string): string => createHash('sha256').update(answer).digest('hex').slice(0, 6)
