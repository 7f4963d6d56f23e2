import type { RecordedObject } from '../../shared/record/format.ts'
import type { Interval } from './interval.ts'

/** What a page shows of a cluster's history. Texts are ready to be shown; times are milliseconds since the epoch. */

/** `BackOff`: a container is not started for now, since it crashed, or its image cannot be had. */
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
/** A part of the end of one container. */
export interface Segment {
  container: string
  kind: SegmentKind
  /** As the record calls it: `PreStop`, `SIGTERM`. */
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

/** A Termination: how containers of a pod were stopped. */
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
  /** When no Service offered the pod any more. */
  endpointRemovedMs?: number
  containers: ContainerDeath[]
}

export interface PodStory {
  uid: string
  name: string
  namespace: string
  labels: Readonly<Record<string, string>>
  node: string
  owner?: { uid: string; kind: string; name: string }
  /** `Deployment/web`: what its Termination says, where its owner was not seen. */
  workload: string
  phases: Interval<PodPhase>[]
  marks: Mark[]
  /** What was reported about the pod, in its own words. */
  events: { atMs: number; text: string }[]
  deaths: Death[]
  /** The user that asked for an eviction which has not begun yet. */
  evictor?: string
  reason: string
  restarts: number
  /** The grace period that it got, from the moment it was deleted. */
  grace?: { startMs: number; endMs: number }
  /** How it ended. */
  endPhase: string
  /** When its last process had ended. */
  processEndMs?: number
  endpointRemovedMs?: number
  /** That offered it at some time. */
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

/** One user who asks for one thing, by the second. */
export interface JournalRow {
  user: string
  verb: string
  resource: string
  total: number
  failed: number
  /** Requests per second since the epoch. */
  seconds: Map<number, number>
  mostPerSecond: number
  /** Since when it writes the same again and again. */
  hotMs?: number
}

export interface Load {
  /** Of the pod in `target`, where the client knew it. */
  uid?: string
  startMs: number
  endMs: number
  target: string
  namespace: string
  answered: number
  lost: number
  cut: number
  slowestMs: number
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

/** Adds, and forgets the oldest above the limit. */
export function push<Item>(list: Item[], item: Item, limit: number): void {
  list.push(item)
  if (list.length > limit) list.splice(0, list.length - limit)
}
