import { restartRuleFor } from '../../shared/api/pods/restart-rules.ts'
import type { Pod } from '../../shared/api/types.ts'
import { allContainers } from '../pod/container-kinds.ts'
import type { ContainerRecord } from '../runtime/container-runtime.ts'
import { newestRecord, type RuntimePod } from '../runtime/runtime-pod.ts'

/** The container whose end restarts all of its pod, by its rule `RestartAllContainers`. */
export function restartAllSource(pod: Pod, runtime: RuntimePod): ContainerRecord | undefined {
  for (const container of allContainers(pod.spec)) {
    const record = newestRecord(runtime, container.name)
    if (record?.state !== 'exited') continue
    if (restartRuleFor(container, record.exitCode ?? 255)?.action === 'RestartAllContainers') return record
  }
  return undefined
}
