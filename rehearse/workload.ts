import { loadAll } from 'js-yaml'
import type { KubeObject, Pod, PodSpec } from '../shared/api/types.ts'
import type { Resource } from '../shared/client/client.ts'
import { ConfigError } from '../shared/config/option.ts'

/** What dies in a rehearsal: one kind of pod, and the objects that it needs to live. */
export interface Workload {
  /** `Deployment web` */
  title: string
  name: string
  pod: Pick<Pod, 'metadata' | 'spec'>
  /** URL that is asked while it dies; the annotation `rehearse.kubestage.dev/load`. */
  load?: string
  others: { resource: Resource; object: KubeObject }[]
}

export const loadAnnotation = 'rehearse.kubestage.dev/load'

const core = (plural: string): Resource => ({ group: '', version: 'v1', plural })
/** What pods may need. */
const supporting: Record<string, Resource> = {
  ConfigMap: core('configmaps'),
  Secret: core('secrets'),
  ServiceAccount: core('serviceaccounts'),
  Service: core('services'),
  PriorityClass: { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses' },
}
interface WithTemplate {
  template?: { metadata?: Pod['metadata']; spec?: PodSpec }
  jobTemplate?: { spec?: WithTemplate }
}

/** Reads manifests: every pod, and every pod template of a workload, is one. Throws a ConfigError. */
export function readWorkloads(file: string, text: string): Workload[] {
  const objects = parse(file, text)
  const others = objects.flatMap((object) => {
    const resource = supporting[object.kind ?? '']
    return resource ? [{ resource, object: inDefault(object) }] : []
  })
  const workloads = objects.flatMap((object) => {
    const pod = podOf(object)
    if (!pod?.spec) return []
    const name = object.metadata?.name ?? 'workload'
    const annotations = { ...object.metadata?.annotations, ...pod.metadata?.annotations }
    const { namespace: _, ...metadata } = pod.metadata ?? {}
    return [
      {
        title: `${object.kind} ${name}`,
        name,
        load: annotations[loadAnnotation],
        pod: { metadata, spec: pod.spec },
        others,
      },
    ]
  })
  if (workloads.length === 0) throw new ConfigError(`${file}: there is no pod in it, nor anything that makes pods`)
  return workloads
}

/** A program alone, as the only container of a pod. */
export function workloadOf(name: string, command: string[], image = 'busybox'): Workload {
  const pod = { metadata: { name }, spec: { containers: [{ name: 'main', image, command }] } }
  return { title: `command ${command.join(' ')}`, name, pod, others: [] }
}

function podOf({ kind, metadata, spec }: KubeObject): { metadata?: Pod['metadata']; spec?: PodSpec } | undefined {
  if (kind === 'Pod') return { metadata, spec: spec as PodSpec }
  const { template, jobTemplate } = (spec ?? {}) as WithTemplate
  return template ?? jobTemplate?.spec?.template
}

const inDefault = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, ...(object.metadata?.namespace && { namespace: 'default' }) },
})

function parse(file: string, text: string): KubeObject[] {
  try {
    const documents = loadAll(text) as (KubeObject & { items?: KubeObject[] })[]
    return documents.filter(Boolean).flatMap((document) => document.items ?? [document])
  } catch (error) {
    const { reason = 'not valid YAML', mark } = error as { reason?: string; mark?: { line: number } }
    throw new ConfigError(`${file}:${(mark?.line ?? 0) + 1}: ${reason}`)
  }
}
