import type { ManagerOptions } from '../controllers/manager-loops.ts'
import type { FeatureGates } from '../shared/config/feature-gates.ts'
import type { LoopFlags } from '../shared/config/loop-options.ts'

interface LoopOptions extends Partial<LoopFlags> {
  featureGates: FeatureGates
  clusterCidr?: string
}

/** Returns the settings of control loops as they take them; what is not given has its default. */
export const loopSettings = (
  options: LoopOptions,
): Pick<ManagerOptions, 'featureGates' | 'clusterCidr' | 'nodeMonitorGraceMs' | 'autoscaler'> => ({
  featureGates: options.featureGates,
  clusterCidr: options.clusterCidr,
  nodeMonitorGraceMs: options.nodeMonitorGracePeriod,
  autoscaler: {
    syncPeriodMs: options.horizontalPodAutoscalerSyncPeriod,
    downscaleStabilizationMs: options.horizontalPodAutoscalerDownscaleStabilization,
  },
})
