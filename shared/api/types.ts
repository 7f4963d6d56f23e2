/**
 * API object shapes as they travel in JSON: the client library's models with dates as RFC 3339 strings,
 * plus the fields of the Pod Termination Reason proposal. Types only; nothing here exists at run time.
 */
import type * as k8s from '@kubernetes/client-node'

/** A model as JSON: `Date` becomes an RFC 3339 string. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Key in keyof T]: Wire<T[Key]> }
      : T

export interface ObjectMeta extends Omit<Wire<k8s.V1ObjectMeta>, 'managedFields'> {
  managedFields?: unknown[]
  /** The reason why the object was deleted; set only by the server (Pod Termination Reason proposal). */
  reason?: string
}

/** Describes what every object that the API stores has. */
export interface KubeObject {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  [field: string]: unknown
}

export interface KubeList<T = KubeObject> {
  apiVersion: string
  kind: string
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number }
  items: T[]
}

export type WithMeta<T> = Omit<Wire<T>, 'metadata' | 'apiVersion' | 'kind'> & {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
}

/** Says how a preStop hook gets the reason. Exactly one of the two fields is set (Pod Termination Reason proposal). */
export interface TerminationReasonDelivery {
  env?: string
  header?: string
}
export type ExecAction = Wire<k8s.V1ExecAction>
export type HTTPGetAction = Omit<Wire<k8s.V1HTTPGetAction>, 'port'> & { port: number | string }
export type TCPSocketAction = Omit<Wire<k8s.V1TCPSocketAction>, 'port'> & { port: number | string }
export type SleepAction = Wire<k8s.V1SleepAction>
export interface LifecycleHandler {
  exec?: ExecAction
  httpGet?: HTTPGetAction
  tcpSocket?: TCPSocketAction
  sleep?: SleepAction
}
export interface PreStopHandler extends LifecycleHandler {
  reasonDelivery?: TerminationReasonDelivery
}
export interface Lifecycle {
  postStart?: LifecycleHandler
  preStop?: PreStopHandler
  stopSignal?: string
}
export type Probe = Omit<Wire<k8s.V1Probe>, 'httpGet' | 'tcpSocket'> & {
  httpGet?: HTTPGetAction
  tcpSocket?: TCPSocketAction
}
export type EnvVar = Wire<k8s.V1EnvVar>
export type Container = Omit<
  Wire<k8s.V1Container>,
  'lifecycle' | 'livenessProbe' | 'readinessProbe' | 'startupProbe'
> & {
  lifecycle?: Lifecycle
  livenessProbe?: Probe
  readinessProbe?: Probe
  startupProbe?: Probe
}
export type PodSpec = Omit<Wire<k8s.V1PodSpec>, 'containers' | 'initContainers'> & {
  containers: Container[]
  initContainers?: Container[]
}
export type PodStatus = Wire<k8s.V1PodStatus>
export type PodCondition = Wire<k8s.V1PodCondition>
export type ContainerStatus = Wire<k8s.V1ContainerStatus>
export type ContainerState = Wire<k8s.V1ContainerState>
export interface Pod {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: PodSpec
  status?: PodStatus
}
/** A pod as workloads keep it to make pods of. */
export interface PodTemplateSpec {
  metadata?: ObjectMeta
  spec?: PodSpec
}
export interface PodTemplate {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  template: PodTemplateSpec
}
export type Node = WithMeta<k8s.V1Node>
export type Namespace = WithMeta<k8s.V1Namespace>
export type ConfigMap = WithMeta<k8s.V1ConfigMap>
export type Secret = WithMeta<k8s.V1Secret>
export type Service = WithMeta<k8s.V1Service>
export type ServiceCIDR = WithMeta<k8s.V1ServiceCIDR>
export type ServiceAccount = WithMeta<k8s.V1ServiceAccount>
export type Event = Omit<WithMeta<k8s.CoreV1Event>, 'eventTime'> & { eventTime?: string | null }
export type Lease = WithMeta<k8s.V1Lease>
export type Binding = WithMeta<k8s.V1Binding>
export type PodDisruptionBudget = WithMeta<k8s.V1PodDisruptionBudget>

export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan'
export interface DeleteOptions {
  apiVersion?: string
  kind?: string
  gracePeriodSeconds?: number
  preconditions?: { uid?: string; resourceVersion?: string }
  propagationPolicy?: PropagationPolicy | string
  orphanDependents?: boolean
  dryRun?: string[]
  /** Gives the reason for the deletion (Pod Termination Reason proposal): 1 to 1,024 bytes, no control characters. */
  reason?: string
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
export interface WatchEvent<T = KubeObject> {
  type: WatchEventType
  object: T
}

export interface StatusCause {
  reason?: string
  message?: string
  field?: string
}
/** Describes a metav1.Status, the shape of every error. */
export interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: Record<string, unknown>
  status?: 'Success' | 'Failure'
  message?: string
  reason?: string
  details?: {
    name?: string
    group?: string
    kind?: string
    uid?: string
    causes?: StatusCause[]
    retryAfterSeconds?: number
  }
  code?: number
}
