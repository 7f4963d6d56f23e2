import { Interned } from '../../shared/api/json/interned.ts'
import { remembered } from '../../shared/api/json/remembered.ts'
import type { Container, ContainerStatus, ObjectMeta, Pod, PodSpec, PodStatus } from '../../shared/api/types.ts'
import type { Trimmed } from './trimmed.ts'
import { trimMetadata } from './trimmed-metadata.ts'

export type TrimmedContainer = Trimmed<
  Container,
  'name' | 'image' | 'resources' | 'ports' | 'restartPolicy',
  'stdinOnce'
>

export type TrimmedPodSpec = Trimmed<
  PodSpec,
  | 'nodeName'
  | 'nodeSelector'
  | 'affinity'
  | 'topologySpreadConstraints'
  | 'tolerations'
  | 'schedulerName'
  | 'schedulingGates'
  | 'priority'
  | 'preemptionPolicy'
  | 'overhead'
  | 'resources'
  | 'hostNetwork'
  | 'hostname'
  | 'subdomain'
  | 'volumes',
  'serviceAccount'
> & { containers: TrimmedContainer[]; initContainers?: TrimmedContainer[] }

/**
 * Holds the fields of a pod's status that control loops read. Of the container statuses it keeps those that have ended
 * once; of init containers, those that failed or were restarted.
 */
export type TrimmedPodStatus = Trimmed<
  PodStatus,
  | 'phase'
  | 'reason'
  | 'conditions'
  | 'podIP'
  | 'startTime'
  | 'nominatedNodeName'
  | 'containerStatuses'
  | 'initContainerStatuses',
  'hostIPs'
>

/**
 * Holds the fields of a pod that control loops read. Thousands may be in memory: a loop that reads another field adds
 * it here and below.
 */
export interface TrimmedPod {
  /** Keeps only the annotations of {@link readAnnotations}. */
  metadata: Omit<ObjectMeta, 'managedFields'>
  spec: TrimmedPodSpec
  status?: TrimmedPodStatus
}

/** Read by ReplicaSets of the pods that they may delete, and by jobs of the pods that failed. */
const readAnnotations = [
  'controller.kubernetes.io/pod-deletion-cost',
  'batch.kubernetes.io/job-completion-index',
  'batch.kubernetes.io/job-index-failure-count',
  'batch.kubernetes.io/job-index-ignored-failure-count',
]

/** Pods of one template are scheduled alike. */
const specs = new Interned<TrimmedPodSpec>(256)
const labels = new Interned<Record<string, string>>(256)

export function trimPod({ metadata, spec, status }: Pod): TrimmedPod {
  const kept = trimMetadata(metadata)
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => readAnnotations.includes(name))
  if (annotations.length > 0) kept.annotations = Object.fromEntries(annotations)
  if (kept.labels) kept.labels = labels.of(kept.labels)
  return {
    metadata: kept,
    spec: trimSpec(spec),
    status: {
      phase: status?.phase,
      reason: status?.reason,
      conditions: status?.conditions,
      podIP: status?.podIP,
      startTime: status?.startTime,
      nominatedNodeName: status?.nominatedNodeName,
      // Most pods keep none: their containers never ended.
      containerStatuses: status?.containerStatuses?.filter(hasEndedOnce),
      initContainerStatuses: status?.initContainerStatuses?.filter(
        (one) => hasEndedOnce(one) && (one.restartCount > 0 || one.state?.terminated?.exitCode !== 0),
      ),
    },
  }
}

const hasEndedOnce = ({ restartCount, state }: ContainerStatus): boolean =>
  restartCount > 0 || state?.terminated !== undefined

const trimSpec = remembered(
  (spec: PodSpec): TrimmedPodSpec =>
    Object.freeze(
      specs.of({
        nodeName: spec.nodeName,
        nodeSelector: spec.nodeSelector,
        affinity: spec.affinity,
        topologySpreadConstraints: spec.topologySpreadConstraints,
        tolerations: spec.tolerations,
        schedulerName: spec.schedulerName,
        schedulingGates: spec.schedulingGates,
        priority: spec.priority,
        preemptionPolicy: spec.preemptionPolicy,
        overhead: spec.overhead,
        resources: spec.resources,
        hostNetwork: spec.hostNetwork,
        hostname: spec.hostname,
        subdomain: spec.subdomain,
        containers: spec.containers.map(trimContainer),
        initContainers: spec.initContainers?.map(trimContainer),
        volumes: spec.volumes?.filter(
          ({ persistentVolumeClaim, ephemeral, image }) => persistentVolumeClaim ?? ephemeral ?? image,
        ),
      }),
    ),
)

function trimContainer({ name, image, resources, ports, restartPolicy }: Container): TrimmedContainer {
  return { name, image, resources, ports, restartPolicy }
}
