import type { Pod } from '../../shared/api/types.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'
import type { NewPod } from './job-size.ts'
import { COMPLETION_INDEX, FAILURE_COUNT, IGNORED_FAILURE_COUNT, TRACKING_FINALIZER } from './job-view.ts'

const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX'

/** Makes a pod of the template the job's: kept until it is counted, and with its index, where it has one. */
export function makeJobs(pod: Pod, job: Job, { index, failures }: NewPod): void {
  const { metadata, spec } = pod
  metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), TRACKING_FINALIZER])]
  if (index === undefined) return
  metadata.annotations = {
    ...metadata.annotations,
    [COMPLETION_INDEX]: String(index),
    ...(failures && { [FAILURE_COUNT]: String(failures.counted) }),
    ...(failures && failures.ignored > 0 && { [IGNORED_FAILURE_COUNT]: String(failures.ignored) }),
  }
  metadata.labels = { ...metadata.labels, [COMPLETION_INDEX]: String(index) }
  metadata.generateName = `${job.metadata.name}-${index}-`
  spec.hostname = `${job.metadata.name}-${index}`
  const fieldRef = { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` }
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    if (container.env?.some(({ name }) => name === INDEX_VARIABLE)) continue
    container.env = [...(container.env ?? []), { name: INDEX_VARIABLE, valueFrom: { fieldRef } }]
  }
}
