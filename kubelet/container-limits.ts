import type { Pod } from '../shared/api/types.ts'
import type { Limit, ReachedLimits } from '../shared/limits/reached-limits.ts'
import type { EventRecorder } from './events/event-recorder.ts'
import type { ContainerRuntime } from './runtime/container-runtime.ts'

export type ContainerLimitName = 'containerLayerSize' | 'containerLogMaxSize' | 'containerLogMaxFiles'

interface ContainerLimit extends Limit {
  /** Where what it bounds is counted. */
  counted: string
}

/** What a container may write. Makes the help of the flags, the table in docs/configuration.md, the metric and the lines of the log. */
export const containerLimits: Readonly<Record<ContainerLimitName, ContainerLimit>> = {
  containerLayerSize: {
    what: 'bytes that a container with files of its own writes beside its volumes',
    beyond: 'it gets "No space left on device"',
    counted: 'as ephemeral storage of its pod; `container_fs_usage_bytes`',
  },
  containerLogMaxSize: {
    what: 'bytes of a log file of a container',
    beyond: 'another begins',
    counted: 'as ephemeral storage of its pod',
    isOrdinary: true,
  },
  containerLogMaxFiles: {
    what: 'log files of a container',
    beyond: 'the oldest is removed',
    counted: 'as ephemeral storage of its pod',
    isOrdinary: true,
  },
}

export const helpOf = (name: ContainerLimitName): string => {
  const { what, beyond } = containerLimits[name]
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}; beyond, ${beyond}`
}

interface ReportOptions {
  runtime: ContainerRuntime
  limits: ReachedLimits<ContainerLimitName>
  events: EventRecorder
  podOf(uid: string): Pod | undefined
}

/** Counts and logs the limits that containers reach; a full layer, which a program may hide, is an event of its pod as well. Returns a function that ends it. */
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
