/** What is played on both nodes: a pod, and what a user does to it. */
import type { Pod, PodSpec } from '../../../shared/api/types.ts'

export interface Subject {
  pod: { metadata?: Partial<Pod['metadata']>; spec: PodSpec }
  deeds: Deed[]
  /** The seconds after its creation during which the pod is compared, unless it is gone before. */
  untilSeconds: number
}

/** The moment from which a deed's delay counts; each comes at most `patienceMs` (player.ts) after the deed before. */
export type Moment = 'created' | 'started' | 'running' | 'ready' | 'exited' | 'deed'

export interface Deed {
  after: Moment
  seconds: number
  delete?: { gracePeriodSeconds?: number }
  evict?: { gracePeriodSeconds?: number }
  /** A strategic merge patch of the pod, or of its subresource. */
  patch?: object
  subresource?: 'status' | 'resize' | 'ephemeralcontainers'
}
