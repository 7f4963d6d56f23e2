import type { ObjectMeta } from '../../shared/api/types.ts'
import type { CronJob as AnyCronJob, Job } from '../../shared/api/workloads.ts'

export const kind = { apiVersion: 'batch/v1', kind: 'CronJob' }

export type CronJobStatus = NonNullable<AnyCronJob['status']>
/** As it is when the API has taken it. */
export interface CronJob extends Pick<AnyCronJob, 'metadata' | 'status'> {
  spec: Omit<NonNullable<AnyCronJob['spec']>, 'jobTemplate'> & {
    jobTemplate: { metadata?: ObjectMeta; spec: Job['spec'] }
  }
}
