import { type Losses, lossKinds } from '../../shared/record/format.ts'
import { Latencies } from './latencies.ts'
import type { Sample } from './request.ts'

export interface PodTally {
  /** Names the pod; empty for requests that went to no pod, because clients knew none. */
  name: string
  uid: string
  sent: number
  answered: number
  losses: Losses
  latencies: Latencies
  /** When the first and the last request were lost, in milliseconds of the cluster. */
  firstLostMs?: number
  lastLostMs?: number
}

/** Rollouts may go on for as long as the load. */
const mostPods = 1_000
const others = { name: '(other pods)', uid: 'others' }

/** Counts the results of all requests, in total and for each pod. */
export class Tally {
  readonly all = fresh({ name: '', uid: '' })
  readonly pods = new Map<string, PodTally>()

  /** Adds a sample. `tookMs` is in milliseconds of the machine. */
  add(pod: { name: string; uid: string }, { startMs, kind }: Sample, tookMs: number): void {
    for (const tally of [this.all, this.#of(pod)]) {
      tally.sent++
      if (kind === undefined) {
        tally.answered++
        tally.latencies.add(tookMs)
        continue
      }
      tally.losses[kind] = (tally.losses[kind] ?? 0) + 1
      tally.firstLostMs = Math.min(tally.firstLostMs ?? startMs, startMs)
      tally.lastLostMs = Math.max(tally.lastLostMs ?? startMs, startMs)
    }
  }

  #of(pod: { name: string; uid: string }): PodTally {
    const isFull = this.pods.size >= mostPods && !this.pods.has(pod.uid)
    const { uid, name } = isFull ? others : pod
    const tally = this.pods.get(uid) ?? fresh({ uid, name })
    this.pods.set(uid, tally)
    return tally
  }
}

const fresh = ({ name, uid }: { name: string; uid: string }): PodTally => ({
  ...{ name, uid, sent: 0, answered: 0, losses: {} },
  latencies: new Latencies(),
})

export const lostOf = ({ sent, answered }: Pick<PodTally, 'sent' | 'answered'>): number => sent - answered

/** `3 refused, 1 reset` */
export const inWords = (losses: Losses): string =>
  lossKinds.flatMap((kind) => (losses[kind] ? [`${losses[kind]} ${kind}`] : [])).join(', ')
