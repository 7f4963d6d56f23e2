import type { PodStatus } from '../../shared/api/types.ts'

/** Changes a pod's status before it is written, as evictions and rejections do. */
export type StatusChange = (status: PodStatus) => PodStatus
