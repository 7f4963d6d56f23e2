import type { Pod } from '../shared/api/types.ts'
import type { ReachedLimits } from '../shared/limits/reached-limits.ts'
import type { ContainerLimitName } from './container-limits.ts'
import type { EventRecorder } from './events/event-recorder.ts'
import type { ContainerRuntime } from './runtime/container-runtime.ts'

interface ReportOptions {
  runtime: ContainerRuntime
  limits: ReachedLimits<ContainerLimitName>
  events: EventRecorder
  podOf(uid: string): Pod | undefined
}

/**
 * Counts and logs the limits that containers reach; what a program may hide, and what ends it, is an event of its pod
 * as well. Returns a function that ends it.
 */
export function reportContainerLimits({ runtime, limits, events, podOf }: ReportOptions): () => void {
  const report = runtime.onLimit?.(({ limit, podUid, container }) => {
    const pod = podOf(podUid)
    if (limit === 'memory') {
      if (pod) events.podEvent(pod, container, 'Warning', 'OOMKilled', outOfMemory(pod, container))
      return
    }
    const { namespace, name } = pod?.metadata ?? {}
    limits.add(limit, {
      key: `${podUid} ${container}`,
      fields: { pod: pod ? `${namespace}/${name}` : podUid, container },
    })
    if (pod && limit === 'containerLayerSize') events.podEvent(pod, container, 'Warning', 'LayerFull', layerFull)
    if (pod && limit === 'podPidsLimit') events.podEvent(pod, container, 'Warning', 'PidsLimit', pidsUsedUp)
  })
  return report ?? (() => {})
}

/** The limit may also be the pod's, or smaller since a resize. */
function outOfMemory({ spec }: Pod, name: string): string {
  const container = [...(spec.initContainers ?? []), ...spec.containers].find((container) => container.name === name)
  const limit = container?.resources?.limits?.memory
  return `The container has used up its memory${limit ? ` (limit ${limit})` : ''}, and the kernel has ended it. What it writes to its own layer or to volumes in memory counts as well`
}

const layerFull =
  'The container has filled its own layer (--container-layer-size): writes fail with "No space left on device". Write to a volume, or raise the limit'

const pidsUsedUp =
  'The pod has as many processes and threads as it may have (--pod-pids-limit): more fail with "Resource temporarily unavailable"'
