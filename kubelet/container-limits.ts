import type { Limit } from '../shared/limits/reached-limits.ts'

export type ContainerLimitName = 'containerLayerSize' | 'containerLogMaxSize' | 'containerLogMaxFiles' | 'podPidsLimit'

interface ContainerLimit extends Limit {
  /** Says where the bounded amount is counted. */
  counted: string
}

/**
 * Defines the bounds on what a container may write. The help of the flags, the table in docs/configuration.md, the
 * metric and the log lines are made from this table.
 */
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
  podPidsLimit: {
    what: 'processes and threads of a pod, where limits are kept (`--limits`); 0 is no bound',
    beyond: 'it gets "Resource temporarily unavailable"',
    counted: 'by the control group of the pod',
  },
}

export const helpOf = (name: ContainerLimitName): string => {
  const { what, beyond } = containerLimits[name]
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}; beyond, ${beyond}`
}
