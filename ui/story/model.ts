import type { RecordedLoad, RecordedObject } from '../../shared/record/format.ts'
import type { Interval } from './interval.ts'

/**
 * Holds the history of a cluster as a page shows it. Texts are ready to be shown; times are milliseconds since the
 * epoch.
 */

/**
 * Names the phases of a pod. `BackOff`: a container is not started for now, because it crashed, or its image is not
 * available.
 */
export type PodPhase = 'Pending' | 'Running' | 'Ready' | 'BackOff' | 'Terminating' | 'Succeeded' | 'Failed'

export type MarkKind =
  | 'probe'
  | 'restart'
  | 'eviction'
  | 'cancelled'
  | 'endpoint'
  | 'kill'
  | 'lost'
  | 'warning'
  | 'note'
  | 'failure'
  | 'gap'
export interface Mark {
  atMs: number
  kind: MarkKind
  text: string
}

export type SegmentKind = 'hook' | 'wait' | 'term' | 'kill'
/** Describes one step of a container's end. */
export interface Segment {
  container: string
  kind: SegmentKind
  /** Name of the step in the record: `PreStop`, `SIGTERM`. */
  name: string
  startMs: number
  endMs: number
  outcome: string
  exitCode?: number
  httpStatus?: number
  message: string
  output: string
}

export interface ContainerDeath {
  name: string
  verdict: string
  verdictType: string
  graceSeconds: number
  used: string
  exitCode?: number
  signal: string
  segments: Segment[]
}

export interface Ask {
  user: string
  atMs: number
  reason: string
  graceSeconds?: number
}

/** Holds a Termination: how containers of a pod were stopped. */
export interface Death {
  name: string
  startMs: number
  endMs: number
  graceSeconds: number
  reason: string
  cause: string
  message: string
  verdict: string
  verdictType: string
  used: string
  phase: string
  asks: Ask[]
  /** Tells when the last Service stopped offering the pod. */
  endpointRemovedMs?: number
  /** Counts the requests that were lost at the pod, by kind; empty if none was. */
  lost: { kind: string; count: number }[]
  containers: ContainerDeath[]
}

export interface PodStory {
  uid: string
  name: string
  namespace: string
  labels: Readonly<Record<string, string>>
  node: string
  /** Address of the pod; empty until it has one. */
  ip: string
  /** Images of its containers, each once. */
  images: readonly string[]
  owner?: { uid: string; kind: string; name: string }
  /** Owner such as `Deployment/web`, from the Termination, if the record does not have the owner. */
  workload: string
  phases: Interval<PodPhase>[]
  marks: Mark[]
  /** Lists events about the pod, with their texts. */
  events: { atMs: number; text: string }[]
  deaths: Death[]
  /** User who asked for an eviction that has not begun yet. */
  evictor?: string
  reason: string
  restarts: number
  /** Holds the grace period of the pod, from its deletion on. */
  grace?: { startMs: number; endMs: number }
  /** Final phase of the pod; empty while it runs. */
  endPhase: string
  /** Tells when the pod's last process ended. */
  processEndMs?: number
  endpointRemovedMs?: number
  /** Services that have offered the pod. */
  services: Set<string>
  goneMs?: number
  object?: RecordedObject
}

export interface NodeStory {
  name: string
  uid: string
  states: Interval<'Ready' | 'NotReady' | 'Lost'>[]
  pressures: Map<string, Interval[]>
  taints: Map<string, Interval[]>
  marks: Mark[]
  goneMs?: number
  object?: RecordedObject
}

export interface WorkloadCounts {
  atMs: number
  desired: number
  total: number
  ready: number
}
export interface WorkloadStory {
  uid: string
  kind: string
  name: string
  namespace: string
  revision: number
  owner?: string
  counts: WorkloadCounts[]
  maxSurge: string
  maxUnavailable: string
  goneMs?: number
  object?: RecordedObject
}

/** Counts the requests of one user for one resource by the second. */
export interface JournalRow {
  user: string
  verb: string
  resource: string
  total: number
  failed: number
  /** Requests per second since the epoch. */
  seconds: Map<number, number>
  mostPerSecond: number
  /** Tells since when the user repeats the same write in a hot loop. */
  hotMs?: number
}

export interface Load
  extends Pick<RecordedLoad, 'uid' | 'target' | 'namespace' | 'answered' | 'lost' | 'cut' | 'slowestMs'> {
  startMs: number
  endMs: number
}

export const limits = {
  pods: 20_000,
  nodes: 5_000,
  workloads: 10_000,
  slices: 5_000,
  marks: 100,
  events: 40,
  moments: 2_000,
  deaths: 20,
  counts: 500,
  rows: 300,
  seconds: 3_600,
  loads: 20_000,
} as const

/** Adds an item, and drops the oldest items above the limit. */
export function push<Item>(list: Item[], item: Item, limit: number): void {
  list.push(item)
  if (list.length > limit) list.splice(0, list.length - limit)
}
