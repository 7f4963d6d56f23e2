import type { RecordedObject } from '../../shared/record/format.ts'
import { limits, push, type WorkloadStory } from './model.ts'
import { ownerOf } from './pod.ts'
import { at, numberAt, textAt } from './text.ts'

export const workloadKinds: ReadonlySet<string> = new Set([
  ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob', 'ReplicationController'],
])

export function newWorkload(object: RecordedObject): WorkloadStory {
  return {
    uid: textAt(object, 'metadata', 'uid'),
    kind: textAt(object, 'kind'),
    name: textAt(object, 'metadata', 'name'),
    namespace: textAt(object, 'metadata', 'namespace'),
    ...{ revision: 0, counts: [], maxSurge: '', maxUnavailable: '' },
  }
}

export function seeWorkload(workload: WorkloadStory, object: RecordedObject, atMs: number): void {
  workload.object = object
  delete workload.goneMs
  workload.owner = ownerOf(object)?.uid
  workload.revision = Number(at(object, 'metadata', 'annotations', 'deployment.kubernetes.io/revision')) || 0
  for (const name of ['maxSurge', 'maxUnavailable'] as const)
    workload[name] = String(at(object, 'spec', 'strategy', 'rollingUpdate', name) ?? '').slice(0, 20)
  const first = (...names: string[]): number =>
    names.map((name) => numberAt(object, 'status', name)).find((count) => count !== undefined) ?? 0
  const counts = {
    atMs,
    desired: numberAt(object, 'spec', 'replicas') ?? first('desiredNumberScheduled'),
    total: first('replicas', 'currentNumberScheduled', 'active'),
    ready: first('readyReplicas', 'numberReady', 'ready'),
  }
  const last = workload.counts.at(-1)
  if (last && last.desired === counts.desired && last.total === counts.total && last.ready === counts.ready) return
  if (last?.atMs === atMs) workload.counts.pop()
  push(workload.counts, counts, limits.counts)
}

export function workloadGone(workload: WorkloadStory, atMs: number): void {
  workload.goneMs = atMs
  push(workload.counts, { atMs, desired: 0, total: 0, ready: 0 }, limits.counts)
}
