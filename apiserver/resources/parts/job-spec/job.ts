import type { V1JobSpec, V1JobStatus } from '@kubernetes/client-node'
import type { ObjectMeta, Wire } from '../../../../shared/api/types.ts'
import type { Workload, WorkloadSpec } from '../workload.ts'

export type JobSpec = Omit<Wire<V1JobSpec>, keyof WorkloadSpec> & WorkloadSpec
export interface Job extends Workload {
  metadata: ObjectMeta
  spec: JobSpec
  status?: Wire<V1JobStatus>
}
export type PodFailurePolicy = NonNullable<JobSpec['podFailurePolicy']>

/** Labels that a job's pods are found by, with the names they had before and still have. */
export const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid'
export const JOB_NAME = 'batch.kubernetes.io/job-name'
export const LEGACY_CONTROLLER_UID = 'controller-uid'
export const LEGACY_JOB_NAME = 'job-name'
