import type { V1PriorityLevelConfiguration } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import type { Attributes } from '../../auth/types.ts'
import type { LookupAll } from '../../kind/lookup.ts'
import { byPrecedence, type FlowSchema, flowOf, matchSchema } from './flow-schema.ts'
import { Seats } from './seats.ts'

type PriorityLevel = WithMeta<V1PriorityLevelConfiguration>

/** Gives a seat back. */
export type Release = () => void

export interface FlowControlOptions {
  lookupAll: LookupAll
  clock: Clock
  /**
   * All seats of the server, which the levels share: upstream's --max-requests-inflight and
   * --max-mutating-requests-inflight together.
   */
  seats: number
}

/** A request that was queued this long gets 429. */
const maxWaitMs = 15_000
/** Limits how long a change of schemas and levels stays unseen. */
const refreshMs = 1_000
const group = 'flowcontrol.apiserver.k8s.io'

/** Priority and fairness: no client can starve the others. Upstream: apiserver/pkg/util/flowcontrol. */
export class FlowControl {
  readonly #options: FlowControlOptions
  readonly #levels = new Map<string, { spec: string; seats: Seats }>()
  readonly #rejected = new Map<string, { labels: Record<string, string>; count: number }>()
  #schemas: FlowSchema[] = []
  #readMs = Number.NEGATIVE_INFINITY

  constructor(options: FlowControlOptions) {
    this.#options = options
  }

  /** `undefined`: the request is not counted. `'rejected'`: the server is too busy. A promise while it is queued. */
  admit(attributes: Attributes): Release | 'rejected' | undefined | Promise<Release | 'rejected'> {
    if (attributes.user.groups.includes('system:masters')) return undefined
    this.#refresh()
    const schema = matchSchema(this.#schemas, attributes)
    const name = schema?.spec?.priorityLevelConfiguration.name ?? ''
    const level = this.#levels.get(name)
    if (!schema || !level) return undefined
    const { seats } = level
    if (seats.take()) return () => seats.release()
    return this.#wait(schema, name, seats, flowOf(schema, attributes))
  }

  families(): Family[] {
    return [
      this.#gauge('executing', 'Requests that have a seat of their priority level.', ({ taken }) => taken),
      this.#gauge('inqueue', 'Requests that wait for one.', ({ waiting }) => waiting),
      {
        name: 'apiserver_flowcontrol_rejected_requests_total',
        type: 'counter',
        help: 'Requests that were told to come back later.',
        samples: [...this.#rejected.values()].map(({ labels, count }) => ({ labels, value: count })),
      },
    ]
  }

  #refresh(): void {
    const { lookupAll, clock, seats: all } = this.#options
    const nowMs = clock.machine.monotonic()
    if (nowMs - this.#readMs < refreshMs) return
    this.#readMs = nowMs
    this.#schemas = byPrecedence(lookupAll({ group, plural: 'flowschemas' }) as Iterable<FlowSchema>)
    const found = [...lookupAll({ group, plural: 'prioritylevelconfigurations' })] as PriorityLevel[]
    const shares = found.reduce((sum, { spec }) => sum + sharesOf(spec), 0)
    for (const { metadata, spec } of found) {
      const { name = '' } = metadata
      const text = JSON.stringify([spec, shares])
      if (this.#levels.get(name)?.spec === text || spec?.type !== 'Limited') continue
      const queuing = spec.limited?.limitResponse?.queuing
      const places = queuing ? (queuing.queues ?? 0) * (queuing.queueLengthLimit ?? 0) : 0
      const seats = Math.ceil((all * sharesOf(spec)) / Math.max(shares, 1))
      this.#levels.set(name, { spec: text, seats: new Seats({ seats, places }) })
    }
  }

  async #wait(schema: FlowSchema, level: string, seats: Seats, flow: string): Promise<Release | 'rejected'> {
    const place = seats.queue(flow)
    if (!place) return this.#reject(schema, level, 'queue-full')
    const timer = this.#options.clock.machine.setTimer(maxWaitMs, place.leave, { background: true })
    const seated = await place.waits
    timer.cancel()
    return seated ? () => seats.release() : this.#reject(schema, level, 'time-out')
  }

  #reject(schema: FlowSchema, level: string, reason: string): 'rejected' {
    const flow_schema = schema.metadata.name ?? ''
    const key = `${flow_schema} ${reason}`
    const known = this.#rejected.get(key) ?? { labels: { flow_schema, priority_level: level, reason }, count: 0 }
    this.#rejected.set(key, { ...known, count: known.count + 1 })
    return 'rejected'
  }

  #gauge(suffix: string, help: string, value: (seats: Seats) => number): Family {
    const samples = [...this.#levels].map(([priority_level, { seats }]) => ({
      labels: { priority_level },
      value: value(seats),
    }))
    return { name: `apiserver_flowcontrol_current_${suffix}_requests`, type: 'gauge', help, samples }
  }
}

const sharesOf = (spec: PriorityLevel['spec']): number =>
  spec?.limited?.nominalConcurrencyShares ?? spec?.exempt?.nominalConcurrencyShares ?? 0
