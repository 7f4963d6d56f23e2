import type { V2HorizontalPodAutoscalerSpec, V2HorizontalPodAutoscalerStatus } from '@kubernetes/client-node'
import type { ObjectMeta, Wire } from '../../shared/api/types.ts'

export type AutoscalerSpec = Wire<V2HorizontalPodAutoscalerSpec>
export type MetricSpec = NonNullable<AutoscalerSpec['metrics']>[number]
export type Behavior = NonNullable<AutoscalerSpec['behavior']>
export type ScalingRules = NonNullable<Behavior['scaleUp']>
export type AutoscalerStatus = Wire<V2HorizontalPodAutoscalerStatus>
export type MetricStatus = NonNullable<AutoscalerStatus['currentMetrics']>[number]
export type Condition = NonNullable<AutoscalerStatus['conditions']>[number]

/** `autoscaling/v2`, with the defaults of its spec. */
export interface Autoscaler {
  metadata: ObjectMeta
  spec: AutoscalerSpec
  status?: Partial<AutoscalerStatus>
}

/** The flags of kube-controller-manager that begin with `horizontal-pod-autoscaler-`. Times in milliseconds. */
export interface AutoscalerSettings {
  syncPeriodMs: number
  downscaleStabilizationMs: number
  /** Until a pod is as old, its CPU counts only while it is ready. */
  cpuInitializationPeriodMs: number
  /** Upstream calls it `initial-readiness-delay`: a pod that was never ready for longer than this does not count. */
  initialReadinessDelayMs: number
  /** A ratio of usage to target that is as close to 1 changes nothing. */
  tolerance: number
}

/** Holds upstream's defaults. */
export const defaultAutoscalerSettings: AutoscalerSettings = {
  syncPeriodMs: 15_000,
  downscaleStabilizationMs: 300_000,
  cpuInitializationPeriodMs: 300_000,
  initialReadinessDelayMs: 30_000,
  tolerance: 0.1,
}
