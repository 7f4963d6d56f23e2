import type { ObjectMeta } from '../../shared/api/types.ts'
import type { CronJob as AnyCronJob, Job } from '../../shared/api/workloads/workloads.ts'

export const kind = { apiVersion: 'batch/v1', kind: 'CronJob' }

export type CronJobStatus = NonNullable<AnyCronJob['status']>
/** Describes a CronJob as the API server stores it: with all required fields. */
export interface CronJob extends Pick<AnyCronJob, 'metadata' | 'status'> {
  spec: Omit<NonNullable<AnyCronJob['spec']>, 'jobTemplate'> & {
    jobTemplate: { metadata?: ObjectMeta; spec: Job['spec'] }
  }
}
