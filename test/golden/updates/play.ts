/** Makes each object that is to be updated, asks, and removes it again. */
import { until } from '../../harness/until.ts'
import type { ResourceDefinition } from '../../../apiserver/kind/resource-definition.ts'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { collectionOf, type Definitions, exampleOf, type Field, Fields, normalize } from '../fields/cases.ts'
import { type Ask, asksOf } from './asks.ts'
import { type Base, bases } from './bases.ts'

export interface Sent {
  method: string
  path: string
  body?: unknown
  headers: Record<string, string>
}
export interface Got {
  status: number
  warning?: string | undefined
  body: unknown
}
export type Send = (sent: Sent) => Promise<Got>
export interface Answered {
  /** `pods/v1 gated` */
  object: string
  field: string
  index: number
  answer: string
}

interface Conditioned {
  status?: { conditions?: { type: string; status: string }[] }
}

/** The conditions of these are written whenever a controller of the server comes to it. */
const writtenByControllers = new Set(['apiservices', 'flowschemas'])

export class Player {
  readonly #send: Send
  readonly #fields: Fields
  /** Each how many a case is asked. */
  readonly #step: number
  readonly #isKnown: (object: string, field: string) => boolean
  #place = 0
  constructor(send: Send, definitions: Definitions, { step = 1, isKnown = (_object: string, _field: string): boolean => true } = {}) {
    this.#send = send
    this.#fields = new Fields(definitions)
    this.#step = step
    this.#isKnown = isKnown
  }

  async *answers(only = (_plural: string) => true): AsyncGenerator<Answered> {
    for (const kind of this.#fields.kinds()) {
      if (!only(kind.plural) || writtenByControllers.has(kind.plural)) continue
      const own = bases.filter(({ plural }) => plural === kind.plural)
      for (const base of own.length > 0 ? own : [{ plural: kind.plural, with: {} }]) yield* this.#about(kind, base)
    }
  }

  async *#about(kind: ResourceDefinition, base: Base): AsyncGenerator<Answered> {
    const object = `${kind.plural}/${apiVersionOf(kind)}${base.as ? ` ${base.as}` : ''}`
    const all = [...this.#fields.of(kind)]
    const fields = base.as ? all.filter(({ path }) => path[0] !== 'metadata').map(fewer) : all
    const stored = await this.#make(kind, base)
    const counts = new Map<string, number>()
    for (const ask of asksOf(kind, fields)) {
      if (!this.#isKnown(object, ask.field)) continue
      const index = counts.get(ask.field) ?? 0
      counts.set(ask.field, index + 1)
      if (this.#place++ % this.#step !== 0) continue
      yield { object, field: ask.field, index, answer: await this.#ask(kind, ask, stored) }
    }
    await this.#send({ method: 'DELETE', path: `${pathOf(kind, stored)}?gracePeriodSeconds=0`, headers: asMaker })
    const released = { metadata: { finalizers: null } }
    const headers = { ...asMaker, 'content-type': 'application/merge-patch+json' }
    await this.#send({ method: 'PATCH', path: pathOf(kind, stored), body: released, headers })
  }

  async #make(kind: ResourceDefinition, base: Base): Promise<KubeObject> {
    const body = merged(exampleOf(kind), base.with) as KubeObject
    const made = await this.#send({ method: 'POST', path: collectionOf(kind), body, headers: asMaker })
    if (made.status !== 201) throw new Error(`${kind.plural} ${base.as}: ${JSON.stringify(made.body)}`)
    const path = pathOf(kind, body)
    if (base.status) {
      const withStatus = { ...(made.body as KubeObject), status: base.status }
      const set = await this.#send({ method: 'PUT', path: `${path}/status`, body: withStatus, headers: asMaker })
      if (set.status !== 200) throw new Error(`${kind.plural} ${base.as}: ${JSON.stringify(set.body)}`)
    }
    const settled = async (): Promise<KubeObject | undefined> => {
      const { body } = await this.#send({ method: 'GET', path, headers: asMaker })
      const { status } = body as Conditioned
      const isSettled = status?.conditions?.some(({ type, status }) => type === base.settles && status === 'True')
      return isSettled || !base.settles ? (body as KubeObject) : undefined
    }
    return until(settled, { what: `${kind.plural} to be ${base.settles}` })
  }

  async #ask(kind: ResourceDefinition, ask: Ask, stored: KubeObject): Promise<string> {
    const { status, warning, body } = await this.#send({
      method: ask.method,
      path: `${pathOf(kind, stored)}${ask.endpoint && `/${ask.endpoint}`}?dryRun=All&fieldValidation=Strict`,
      body: ask.body(stored),
      headers: { 'user-agent': 'asker/1', 'content-type': ask.type },
    })
    return normalize(status, warning, withoutTimes(body), ['managedFields'])
  }
}

/** The kind's rules are asked of its first object. */
const fewer = (field: Field): Field => ({ ...field, values: [null, field.sample] })

const asMaker = { 'user-agent': 'maker/1', 'content-type': 'application/json' }

const pathOf = (kind: ResourceDefinition, { metadata }: KubeObject): string => `${collectionOf(kind)}/${metadata.name}`

/** Null removes. */
export function merged(object: unknown, overlay: unknown): unknown {
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject(object) || !isObject(overlay)) return overlay
  const result: Record<string, unknown> = { ...object }
  for (const [name, value] of Object.entries(overlay)) {
    if (value === null) delete result[name]
    else result[name] = name in result ? merged(result[name], value) : value
  }
  return result
}

/** An object without the times of its managers, which are in the order of their times. */
function withoutTimes(answered: unknown): unknown {
  const entries = (answered as Partial<KubeObject> | undefined)?.metadata?.managedFields as Entry[] | undefined
  for (const entry of entries ?? []) delete entry.time
  const name = ({ manager, operation, subresource }: Entry): string => `${manager} ${operation} ${subresource}`
  entries?.sort((a, b) => (name(a) < name(b) ? -1 : 1))
  return answered
}
type Entry = Partial<Record<'manager' | 'operation' | 'subresource' | 'time', string>>
