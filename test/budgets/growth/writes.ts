/** What can be done with an object that has a large list or map: each verb, with what has to be there before. */
import type { ResourceDefinition } from '../../../apiserver/kind/resource-definition.ts'
import { exampleWith, type FieldPath } from '../../harness/fields.ts'
import type { Request } from '../attack.ts'

/** A kind, and how large it can become. */
export interface Subject {
  kind: ResourceDefinition
  path: FieldPath
  entries(size: number): unknown
}

/** Requests that are measured, after others that are not. */
export interface Work {
  before: Request[]
  measured: Request[]
  after: Request[]
}

type Json = Record<string, unknown>

const name = 'large'
const patchTypes = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
}

export const collectionPath = ({ group, version, plural, namespaced }: ResourceDefinition): string =>
  `${group ? `/apis/${group}` : '/api'}/${version}/${namespaced ? 'namespaces/default/' : ''}${plural}`

/** Requests about one subject with so many entries. */
class Requests {
  readonly #collection: string
  readonly #object: string
  readonly #plain: Json
  readonly #large: Json
  readonly #subject: Subject

  constructor(subject: Subject, size: number) {
    const { kind, path } = subject
    this.#subject = subject
    this.#collection = collectionPath(kind)
    this.#large = this.#typed(exampleWith(kind, name, { path, value: subject.entries(size) }))
    this.#plain = this.#typed(exampleWith(kind, name, { path: ['kind'], value: kind.kind }))
    this.#object = `${this.#collection}/${(this.#large.metadata as Json).name}`
  }

  #typed(object: Json): Json {
    const { group, version, kind, example } = this.#subject.kind
    // Some kinds tell their objects' names by what is in them.
    if (['APIService', 'CustomResourceDefinition'].includes(kind)) {
      ;(object.metadata as Json).name = example.metadata.name
    }
    return { ...object, apiVersion: group ? `${group}/${version}` : version, kind }
  }

  get #endpoint(): string {
    const { path, kind } = this.#subject
    const through = path[0] === 'status' && kind.subresources?.status ? '/status' : ''
    return `${this.#object}${through}`
  }

  create = (large: boolean): Request => ({
    method: 'POST',
    path: this.#collection,
    body: JSON.stringify(large ? this.#large : this.#plain),
  })
  put(label: string, query = ''): Request {
    const object = { ...this.#large, metadata: { ...(this.#large.metadata as Json) } }
    const { annotations } = object.metadata as Json
    ;(object.metadata as Json).annotations = { ...(annotations as Json), changed: label }
    return { method: 'PUT', path: `${this.#endpoint}${query}`, body: JSON.stringify(object) }
  }
  #patch = (type: keyof typeof patchTypes, body: unknown, query = ''): Request => ({
    method: 'PATCH',
    path: `${this.#endpoint}${query}`,
    type: patchTypes[type],
    body: JSON.stringify(body),
  })
  apply = (manager: string, large = true): Request =>
    this.#patch('apply', large ? this.#large : this.#plain, `?force=true&fieldManager=${manager}`)
  merge = (query = ''): Request => this.#patch('merge', this.#large, query)
  strategic = (large: Json = this.#large): Request => this.#patch('strategic', large)
  /** The list in reverse, and then without any of its items. */
  reorder(): Request[] {
    const { path } = this.#subject
    const items = at(this.#large, path)
    if (!Array.isArray(items)) return []
    const list = path.at(-1)!
    const ordered = changed(this.#large, path.slice(0, -1), (parent) => ({
      ...parent,
      [list]: items.toReversed(),
      [`$setElementOrder/${list}`]: items.toReversed(),
    }))
    const isMaps = items.every((item) => typeof item === 'object' && item !== null)
    const without = changed(this.#large, path.slice(0, -1), (parent) =>
      isMaps
        ? { ...parent, [list]: items.map((item) => ({ ...item, $patch: 'delete' })) }
        : { ...parent, [list]: [], [`$deleteFromPrimitiveList/${list}`]: items },
    )
    return [this.strategic(ordered), this.strategic(without)]
  }
  /** One operation for each entry: added at the end, added at the front, tested and removed again. */
  operations(): Request[] {
    const { path } = this.#subject
    const value = at(this.#large, path) as Json | unknown[]
    const pointer = `/${path.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`
    const whole = { op: 'add', path: pointer, value: Array.isArray(value) ? [] : {} }
    const entries = Object.entries(value)
    const steps = Array.isArray(value)
      ? [
          entries.map(([, entry]) => ({ op: 'add', path: `${pointer}/-`, value: entry })),
          entries.map(([, entry]) => ({ op: 'add', path: `${pointer}/0`, value: entry })),
        ]
      : [entries.map(([key, entry]) => ({ op: 'add', path: `${pointer}/${key.replaceAll('/', '~1')}`, value: entry }))]
    return steps.map((operations) => this.#patch('json', [whole, ...operations]))
  }
  get = (accept: string): Request => ({ path: this.#object, headers: { accept } })
  list = (accept: string, query = ''): Request => ({ path: `${this.#collection}${query}`, headers: { accept } })
  delete = (): Request => ({
    method: 'DELETE',
    path: this.#object,
    body: '{"gracePeriodSeconds":0,"propagationPolicy":"Background"}',
  })
  /** Whatever keeps the object. */
  free = (): Request => ({
    method: 'PATCH',
    path: this.#object,
    type: patchTypes.merge,
    body: '{"metadata":{"finalizers":null,"ownerReferences":null}}',
  })
}

function at(object: unknown, path: FieldPath): unknown {
  return path.reduce((value, key) => (value as Json)[key], object)
}

/** A copy with another value at the path. */
function changed(value: unknown, [key, ...rest]: FieldPath, change: (parent: Json) => Json): Json {
  if (key === undefined) return change(value as Json)
  const copy = (Array.isArray(value) ? [...value] : { ...(value as Json) }) as Json
  copy[key] = changed(copy[key], rest, change)
  return copy
}

export const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
const protobuf = 'application/vnd.kubernetes.protobuf'

const works = {
  create: (r) => ({ before: [], measured: [r.create(true)] }),
  update: (r) => ({ before: [r.create(true), r.create(false), r.put('a')], measured: [r.put('b')] }),
  'update of an object without them': (r) => ({ before: [r.create(false)], measured: [r.put('a')] }),
  apply: (r) => ({ before: [r.create(false)], measured: [r.apply('one'), r.apply('two')] }),
  'apply without what was applied': (r) => ({
    before: [r.create(false), r.apply('one'), r.apply('two')],
    measured: [r.apply('one', false), r.apply('two', false)],
  }),
  'merge patch': (r) => ({ before: [r.create(false)], measured: [r.merge(), r.merge()] }),
  'strategic merge patch': (r) => ({ before: [r.create(false)], measured: [r.strategic(), r.strategic()] }),
  'strategic merge patch with directives': (r) => ({
    before: [r.create(true), r.create(false), r.put('a')],
    measured: r.reorder(),
  }),
  'JSON patch': (r) => ({ before: [r.create(false)], measured: r.operations() }),
  read: (r) => ({
    before: [r.create(true), r.create(false), r.put('a')],
    measured: [
      ...[tableType, partial, protobuf, 'application/yaml'].map((accept) => r.list(accept)),
      r.get(protobuf),
      r.list('application/json', '?labelSelector=a!=b&fieldSelector=metadata.name!=x'),
    ],
  }),
  delete: (r) => ({ before: [r.create(true), r.create(false), r.put('a')], measured: [r.delete()] }),
} satisfies Record<string, (requests: Requests) => Omit<Work, 'after'>>

export type Verb = keyof typeof works
export const verbs = Object.keys(works) as Verb[]

/** What is done to one subject by a verb. */
export function workOf(subject: Subject, verb: Verb, size: number): Work {
  const requests = new Requests(subject, size)
  return { ...works[verb](requests), after: [requests.delete(), requests.free()] }
}
