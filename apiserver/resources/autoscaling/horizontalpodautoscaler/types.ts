import type {
  V1HorizontalPodAutoscalerSpec,
  V1HorizontalPodAutoscalerStatus,
  V2HorizontalPodAutoscalerSpec,
  V2HorizontalPodAutoscalerStatus,
} from '@kubernetes/client-node'
import type { ObjectMeta, Wire } from '../../../../shared/api/types.ts'

export type AutoscalerSpec = Wire<V2HorizontalPodAutoscalerSpec>
export type Metric = NonNullable<AutoscalerSpec['metrics']>[number]
export interface Autoscaler {
  metadata: ObjectMeta
  spec?: AutoscalerSpec
  status?: Partial<Wire<V2HorizontalPodAutoscalerStatus>>
}
/** The older version, which knows of CPU only. */
export interface AutoscalerV1 {
  metadata: ObjectMeta
  spec?: Wire<V1HorizontalPodAutoscalerSpec>
  status?: Partial<Wire<V1HorizontalPodAutoscalerStatus>>
}
export type AutoscalerCondition = NonNullable<NonNullable<Autoscaler['status']>['conditions']>[number]
