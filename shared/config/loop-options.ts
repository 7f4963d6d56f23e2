import { option, type Values } from './option.ts'
import { duration } from './option-types.ts'

/** Defines the times of control loops, with kube-controller-manager's names and defaults. */
export const loopOptions = {
  nodeMonitorGracePeriod: option(duration, {
    default: 50_000,
    help: 'How long a node may be silent until it counts as lost',
  }),
  horizontalPodAutoscalerSyncPeriod: option(duration, {
    default: 15_000,
    help: 'How often an autoscaler looks at its metrics',
  }),
  horizontalPodAutoscalerDownscaleStabilization: option(duration, {
    default: 300_000,
    help: 'How long a load must be lower until an autoscaler takes pods away',
  }),
}

/** Holds the values of a program's options of control loops. */
export type LoopFlags = Values<typeof loopOptions>
