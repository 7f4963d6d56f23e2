import { podTemplateWarnings } from '../pod-template.ts'
import type { JobSpec } from './job.ts'

/** Upstream: pkg/api/job/warnings.go. */
const manyCompletions = 100_000
const manyAtOnce = 10_000
const tooMany =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail'

export function jobSpecWarnings(spec: JobSpec, path: string): string[] {
  const { completionMode, completions = 0, parallelism = 0, template } = spec
  const isTooMany = completionMode === 'Indexed' && completions > manyCompletions && parallelism > manyAtOnce
  return [...(isTooMany ? [`${path}: ${tooMany}`] : []), ...podTemplateWarnings(template, `${path}.template`)]
}
