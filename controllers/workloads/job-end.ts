import type { Job } from '../../shared/api/workloads/workloads.ts'

type JobCondition = NonNullable<NonNullable<Job['status']>['conditions']>[number]

/**
 * The condition that says that a job is over, and how; undefined while it is not. Upstream: IsJobFinished in
 * pkg/controller/job/utils.go.
 */
export const jobEnd = ({ status }: Job): JobCondition | undefined =>
  status?.conditions?.find(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True')
