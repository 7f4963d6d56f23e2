/** Kinds that make pods, and the endpoints of Services, as they travel in JSON. Types only. */
import type * as k8s from '@kubernetes/client-node'
import type { PodTemplateSpec, Wire, WithMeta } from '../types.ts'

type WithTemplate<Model extends { spec?: unknown }, Spec = NonNullable<Model['spec']>> = Omit<
  WithMeta<Model>,
  'spec'
> & { spec: Omit<Wire<Spec>, 'template'> & { template: PodTemplateSpec } }

export type ReplicaSet = WithTemplate<k8s.V1ReplicaSet>
/** v1 ReplicationController: a ReplicaSet whose selector is a map. */
export type ReplicationController = WithTemplate<k8s.V1ReplicationController>
/** apps/v1 Deployment; its rolling update takes numbers and percentages. */
export type Deployment = WithTemplate<k8s.V1Deployment>
export type DaemonSet = WithTemplate<k8s.V1DaemonSet>
export type StatefulSet = WithTemplate<k8s.V1StatefulSet>
export type Job = WithTemplate<k8s.V1Job>
export type CronJob = WithMeta<k8s.V1CronJob>
export type ControllerRevision = WithMeta<k8s.V1ControllerRevision>
export type Endpoints = WithMeta<k8s.V1Endpoints>
export type EndpointSlice = WithMeta<k8s.V1EndpointSlice>
