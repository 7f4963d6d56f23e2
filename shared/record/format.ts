/**
 * A record of what happened in a cluster: lines of JSON, each an object with `type`. Lines are only appended, so a
 * record that was cut off is read up to its last whole line. The first line is the header. Readers ignore types and
 * fields that they do not know; `version` grows only when old readers would be wrong.
 *
 * The same lines are what the API server streams to `kubestage record` and to the page.
 */
export const recordFormat = 'kubestage.dev/record'
export const recordVersion = 1

/** RFC 3339 in UTC, in the time of the cluster. */
type Time = string

export interface RecordHeader {
  type: 'HEADER'
  format: typeof recordFormat
  version: number
  at: Time
  /** The version of Kubestage that wrote the record. */
  writer: string
  /** Names the subject of the record: a cluster, or a test. */
  title: string
}

/** The collections whose objects a record has, by their resource and group. */
export const recordedResources = [
  ...['pods', 'nodes', 'services', 'events', 'replicationcontrollers'],
  ...['deployments.apps', 'replicasets.apps', 'statefulsets.apps', 'daemonsets.apps'],
  ...['jobs.batch', 'cronjobs.batch', 'endpointslices.discovery.k8s.io', 'terminations.kubestage.dev'],
] as const

/**
 * A change of an object, as a watch tells it. `ADDED` before the first `SYNCED` is an object that was there when the
 * record began. `object` is whole: apiVersion, kind, managed fields; of Secrets and ConfigMaps there is nothing.
 */
export interface RecordedChange {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  at: Time
  object: RecordedObject
}

export interface RecordedObject {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; uid: string; resourceVersion: string; [field: string]: unknown }
  [field: string]: unknown
}

/** Everything that was there has been written; what follows is news. Again after each gap in the record. */
export interface RecordedSync {
  type: 'SYNCED'
  at: Time
}

/** Describes one answered request to the API server: an entry of the journal (apiserver/instruments/journal.ts). */
export interface RecordedRequest {
  type: 'REQUEST'
  at: Time
  verb: string
  user: string
  path: string
  group?: string
  resource?: string
  subresource?: string
  namespace?: string
  name?: string
  userAgent?: string
  /** 0: there was no answer. */
  code: number
  durationMs: number
  fault?: string
}

/**
 * Lists how a request can be lost. `refused`: no process listens. `unreachable`: no connection for another reason.
 * `noEndpoint`: the Service has no pod to send it to. `timeout`: no whole answer in time. `reset`: the connection ended
 * before the answer began. `cut`: it ended within the answer. `invalid`: the answer is not HTTP. `5xx`: a status from
 * 500 on.
 */
export const lossKinds = ['refused', 'unreachable', 'noEndpoint', 'timeout', 'reset', 'cut', 'invalid', '5xx'] as const
export type LossKind = (typeof lossKinds)[number]
export type Losses = Partial<Record<LossKind, number>>

/**
 * Describes what clients of an application saw in one interval: requests that a load generator sent to a pod or a
 * Service.
 */
export interface RecordedLoad {
  type: 'LOAD'
  /** The time at which the interval begins. */
  at: Time
  seconds: number
  /** `pod/web-1`, `service/web`. */
  target: string
  namespace: string
  answered: number
  /** The request reached no process, or was refused with a code from 500 on. */
  lost: number
  /** The connection ended before the whole answer. */
  cut: number
  slowestMs: number
  /** UID of the pod in `target`: a later pod may have the same name. */
  uid?: string
  /** Name of the Service whose clients sent these requests to the pod. */
  service?: string
  /** The sum of `lost` and `cut`, divided by kind. */
  losses?: Losses
}

/** A moment that a person or a test wants to find again. */
export interface RecordedMark {
  type: 'MARK'
  at: Time
  text: string
  /** `failure` is where a page opens. */
  level: 'note' | 'failure'
}

/** Lines are missing here: the writer could not keep up, or lost its connection. */
export interface RecordedGap {
  type: 'GAP'
  at: Time
  message: string
}

export type RecordLine =
  | RecordHeader
  | RecordedChange
  | RecordedSync
  | RecordedRequest
  | RecordedLoad
  | RecordedMark
  | RecordedGap
