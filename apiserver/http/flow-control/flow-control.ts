import type { V1PriorityLevelConfiguration } from '@kubernetes/client-node'
import type { WithMeta } from '../../../shared/api/types.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { Family } from '../../../shared/metrics/exposition.ts'
import type { LookupAll } from '../../admission/admission-plugin.ts'
import type { Attributes } from '../../auth/types.ts'
import { byPrecedence, type FlowSchema, flowOf, matchSchema } from './flow-schema.ts'
import { Seats } from './seats.ts'

type PriorityLevel = WithMeta<V1PriorityLevelConfiguration>

/** Gives a seat back. */
export type Release = () => void

/** Priority and fairness: no client can starve the others. Upstream: apiserver/pkg/util/flowcontrol. */
export interface FlowControl {
  /** `undefined`: the request is not counted. `'rejected'`: the server is too busy. A promise while it is queued. */
  admit(attributes: Attributes): Release | 'rejected' | undefined | Promise<Release | 'rejected'>
  families(): Family[]
}

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
/** What has changed about schemas and levels is seen after this. */
const refreshMs = 1_000
const group = 'flowcontrol.apiserver.k8s.io'

export function createFlowControl({ lookupAll, clock, seats: all }: FlowControlOptions): FlowControl {
  const levels = new Map<string, { spec: string; seats: Seats }>()
  const rejected = new Map<string, { labels: Record<string, string>; count: number }>()
  let schemas: FlowSchema[] = []
  let readMs = Number.NEGATIVE_INFINITY

  function refresh(): void {
    const nowMs = clock.machine.monotonic()
    if (nowMs - readMs < refreshMs) return
    readMs = nowMs
    schemas = byPrecedence(lookupAll({ group, plural: 'flowschemas' }) as Iterable<FlowSchema>)
    const found = [...lookupAll({ group, plural: 'prioritylevelconfigurations' })] as PriorityLevel[]
    const shares = found.reduce((sum, { spec }) => sum + sharesOf(spec), 0)
    for (const { metadata, spec } of found) {
      const { name = '' } = metadata
      const text = JSON.stringify([spec, shares])
      if (levels.get(name)?.spec === text || spec?.type !== 'Limited') continue
      const queuing = spec.limited?.limitResponse?.queuing
      const places = queuing ? (queuing.queues ?? 0) * (queuing.queueLengthLimit ?? 0) : 0
      const seats = Math.ceil((all * sharesOf(spec)) / Math.max(shares, 1))
      levels.set(name, { spec: text, seats: new Seats({ seats, places }) })
    }
  }

  function reject(schema: FlowSchema, level: string, reason: string): 'rejected' {
    const flow_schema = schema.metadata.name ?? ''
    const key = `${flow_schema} ${reason}`
    const known = rejected.get(key) ?? { labels: { flow_schema, priority_level: level, reason }, count: 0 }
    rejected.set(key, { ...known, count: known.count + 1 })
    return 'rejected'
  }

  async function wait(schema: FlowSchema, level: string, seats: Seats, flow: string): Promise<Release | 'rejected'> {
    const place = seats.queue(flow)
    if (!place) return reject(schema, level, 'queue-full')
    const timer = clock.machine.setTimer(maxWaitMs, place.leave, { background: true })
    const seated = await place.waits
    timer.cancel()
    return seated ? () => seats.release() : reject(schema, level, 'time-out')
  }

  return {
    admit(attributes) {
      if (attributes.user.groups.includes('system:masters')) return undefined
      refresh()
      const schema = matchSchema(schemas, attributes)
      const name = schema?.spec?.priorityLevelConfiguration.name ?? ''
      const level = levels.get(name)
      if (!schema || !level) return undefined
      const { seats } = level
      if (seats.take()) return () => seats.release()
      return wait(schema, name, seats, flowOf(schema, attributes))
    },
    families() {
      const gauge = (suffix: string, help: string, value: (seats: Seats) => number): Family => ({
        name: `apiserver_flowcontrol_current_${suffix}_requests`,
        type: 'gauge',
        help,
        samples: [...levels].map(([priority_level, { seats }]) => ({
          labels: { priority_level },
          value: value(seats),
        })),
      })
      return [
        gauge('executing', 'Requests that have a seat of their priority level.', ({ taken }) => taken),
        gauge('inqueue', 'Requests that wait for one.', ({ waiting }) => waiting),
        {
          name: 'apiserver_flowcontrol_rejected_requests_total',
          type: 'counter',
          help: 'Requests that were told to come back later.',
          samples: [...rejected.values()].map(({ labels, count }) => ({ labels, value: count })),
        },
      ]
    },
  }
}

const sharesOf = (spec: PriorityLevel['spec']): number =>
  spec?.limited?.nominalConcurrencyShares ?? spec?.exempt?.nominalConcurrencyShares ?? 0
