import type { KubeObject, Pod, PodSpec, PodTemplateSpec } from '../../shared/api/types.ts'

/** Describes what runs in pods, and so can be shut down. */
export interface Workload {
  /** Names the workload as `kubectl` does: `deployment/web`. */
  name: string
  file?: string
  namespace: string
  /** Holds a pod of the workload, without a name. */
  template: { metadata: Pod['metadata']; spec: PodSpec }
  /** Says where requests are sent while the pod ends. */
  load?: string
  /** True if its pods are counted: their names end with a number. */
  isOrdinal?: boolean
}

const DEFAULT_GRACE_SECONDS = 30
/** Returns how long the workload's pods have to end, in seconds. */
export const podGraceSeconds = ({ template }: Workload): number =>
  template.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS

/** The workload has it, or its pod template. */
const LOAD_ANNOTATION = 'rehearse.kubestage.dev/load'

/** Host name in a load URL that stands for the pod's address. */
export const POD_HOST = 'pod'

/** `http://pod:8080/`, also without the host. Throws a TypeError for what is no address. */
export const loadUrl = (text: string): URL => new URL(text.replace(/^http:\/\/:/, `http://${POD_HOST}:`))

interface Source {
  file?: string
  object: KubeObject
}

/** No control loop is needed: what a workload would make of its template is made at once. */
const templateOf: Record<string, (object: KubeObject) => PodTemplateSpec | undefined> = {
  Pod: ({ metadata: { name: _name, namespace: _namespace, ...metadata }, spec }) => ({
    metadata,
    spec: spec as PodSpec,
  }),
  ReplicationController: inSpec,
  Deployment: inSpec,
  ReplicaSet: inSpec,
  StatefulSet: withOwnVolumes,
  DaemonSet: inSpec,
  Job: withIndex,
  CronJob: ({ spec }) =>
    (spec as { jobTemplate?: KubeObject } | undefined)?.jobTemplate &&
    withIndex((spec as { jobTemplate: KubeObject }).jobTemplate),
}
function inSpec({ spec }: KubeObject): PodTemplateSpec | undefined {
  return (spec as { template?: PodTemplateSpec } | undefined)?.template
}

/** Each pod of the set knows its number, and has claims of its own: here a folder that is its own. */
function withOwnVolumes(object: KubeObject): PodTemplateSpec | undefined {
  const template = inSpec(object)
  if (!template?.spec) return template
  const claims = (object.spec as { volumeClaimTemplates?: KubeObject[] } | undefined)?.volumeClaimTemplates ?? []
  const labels = { ...template.metadata?.labels, 'apps.kubernetes.io/pod-index': '0' }
  const volumes = claims.map(({ metadata }) => ({ name: metadata.name ?? '', emptyDir: {} }))
  const others = (template.spec.volumes ?? []).filter(({ name }) => !volumes.some((volume) => volume.name === name))
  return {
    ...template,
    metadata: { ...template.metadata, labels },
    spec: { ...template.spec, volumes: [...others, ...volumes] },
  }
}

const JOB_INDEX = 'batch.kubernetes.io/job-completion-index'

/** Returns the template of an Indexed Job's first pod. */
function withIndex(object: KubeObject): PodTemplateSpec | undefined {
  const template = structuredClone(inSpec(object))
  if (!template?.spec || (object.spec as { completionMode?: string }).completionMode !== 'Indexed') return template
  template.metadata = { ...template.metadata, annotations: { ...template.metadata?.annotations, [JOB_INDEX]: '0' } }
  for (const container of [...(template.spec.initContainers ?? []), ...template.spec.containers])
    container.env = [...(container.env ?? []), { name: 'JOB_COMPLETION_INDEX', value: '0' }]
  return template
}

export interface Sorted {
  workloads: Workload[]
  /** The other objects of the same manifests, which are just to be there. */
  others: KubeObject[]
  /** Lists what a chart's hooks run before the application, or to test it. The hooks are no part of the application. */
  hooks: KubeObject[]
}

export function sortObjects(sources: readonly Source[]): Sorted {
  const workloads: Workload[] = []
  const others: KubeObject[] = []
  const hooks: KubeObject[] = []
  for (const { file, object } of sources) {
    const { kind = '', metadata } = object
    const template = Object.hasOwn(templateOf, kind) ? templateOf[kind]?.(object) : undefined
    if (!template?.spec) {
      // A budget would keep the only pod there is from being evicted.
      if (kind !== 'PodDisruptionBudget') others.push(object)
      continue
    }
    if (metadata.annotations?.['helm.sh/hook']) {
      hooks.push(object)
      continue
    }
    const labels = template.metadata?.labels
    const annotations = template.metadata?.annotations
    workloads.push({
      name: `${kind.toLowerCase()}/${metadata.name}`,
      file,
      namespace: metadata.namespace ?? 'default',
      template: { metadata: { labels, annotations }, spec: template.spec },
      load: annotations?.[LOAD_ANNOTATION] ?? metadata.annotations?.[LOAD_ANNOTATION],
      ...(kind === 'StatefulSet' && { isOrdinal: true }),
    })
  }
  return { workloads, others, hooks }
}

/**
 * Returns a workload for an image, or for a command that runs in `folder`, without a manifest. An image chooses its own
 * working folder.
 */
export function simpleWorkload({
  image,
  command,
  folder,
}: {
  image?: string
  command?: string[]
  folder: string
}): Workload {
  const container = {
    name: 'main',
    image: image ?? 'busybox',
    ...(command?.length && { command }),
    ...(image === undefined && { workingDir: folder }),
  }
  return {
    name: image ?? command?.join(' ') ?? '',
    namespace: 'default',
    template: { metadata: {}, spec: { containers: [container] } },
  }
}

/**
 * Returns the resources that two pods on this machine cannot use at once: ports, unless they are bound to the pod's own
 * address, folders and claims. Pods share the machine's network. A container that asks for `status.podIP` is taken to
 * bind that address.
 */
export function sharedThings({ template: { spec }, load }: Workload): string[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers]
  const knowsAddress = containers.some(({ env }) =>
    env?.some(({ valueFrom }) => valueFrom?.fieldRef?.fieldPath === 'status.podIP'),
  )
  const ports = containers.flatMap((container) => container.ports ?? [])
  const volumes = spec.volumes ?? []
  return [
    ...new Set([
      ...ports
        .filter(({ hostPort }) => hostPort || spec.hostNetwork || !knowsAddress)
        .map(({ hostPort, containerPort }) => `port ${hostPort ?? containerPort}`),
      ...volumes.flatMap(({ hostPath }) => (hostPath ? [`folder ${hostPath.path}`] : [])),
      ...volumes.flatMap(({ persistentVolumeClaim: claim }) => (claim ? [`claim ${claim.claimName}`] : [])),
      ...(load && loadUrl(load).hostname !== POD_HOST ? [`load ${load}`] : []),
    ]),
  ].sort()
}
