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
 * Counts and logs the limits that containers reach; a full layer, which a program may hide, is an event of its pod as
 * well. Returns a function that ends it.
 */
export function reportContainerLimits({ runtime, limits, events, podOf }: ReportOptions): () => void {
  const report = runtime.onLimit?.(({ limit, podUid, container }) => {
    const pod = podOf(podUid)
    const { namespace, name } = pod?.metadata ?? {}
    limits.add(limit, {
      key: `${podUid} ${container}`,
      fields: { pod: pod ? `${namespace}/${name}` : podUid, container },
    })
    if (pod && limit === 'containerLayerSize') events.podEvent(pod, container, 'Warning', 'LayerFull', layerFull)
  })
  return report ?? (() => {})
}

const layerFull =
  'The container has filled its own layer (--container-layer-size): writes fail with "No space left on device". Write to a volume, or raise the limit'
