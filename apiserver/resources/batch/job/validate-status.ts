/**
 * Validates a job's status: only what a write changes. Upstream: pkg/apis/batch/validation,
 * pkg/registry/batch/job/strategy.go.
 */
import { invalid, OMITTED, required } from '../../../validation/field-error.ts'
import type { FieldError, FieldErrors } from '../../../validation/field-errors.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import type { Job } from '../../parts/job-spec/job.ts'
import { validateNotNegative } from '../../parts/messages.ts'

type Status = NonNullable<Job['status']>

interface State {
  spec: Job['spec']
  status: Status
  complete: boolean
  failed: boolean
  finished: boolean
  failing: boolean
  succeeding: boolean
}

interface Rule {
  /** Names the fields of which one must have changed; absent if the rule always applies. */
  changed?: readonly (keyof State | keyof Status)[]
  isBroken(state: State, old: State): boolean
  error(state: State): FieldError
}

const holds = ({ conditions = [] }: Status, type: string, value = 'True'): boolean =>
  conditions.some((condition) => condition.type === type && condition.status === value)

function stateOf({ spec, status = {} }: Job): State {
  const [complete, failed] = [holds(status, 'Complete'), holds(status, 'Failed')]
  return {
    spec,
    status,
    complete,
    failed,
    finished: complete || failed,
    failing: holds(status, 'FailureTarget'),
    succeeding: holds(status, 'SuccessCriteriaMet'),
  }
}

const ofConditions = (detail: string) => (): FieldError => invalid('status.conditions', OMITTED, detail)
const of =
  (name: keyof Status, detail: string) =>
  ({ status }: State): FieldError =>
    invalid(`status.${name}`, status[name] ?? null, detail)

const isIndexed = ({ spec }: State): boolean => spec.completionMode === 'Indexed'

const rules: readonly Rule[] = [
  {
    changed: ['complete', 'failed'],
    isBroken: ({ complete, failed }) => complete && failed,
    error: ofConditions('cannot set Complete=True and Failed=true conditions'),
  },
  {
    changed: ['complete', 'failing'],
    isBroken: ({ complete, failing }) => complete && failing,
    error: ofConditions('cannot set Complete=True and FailureTarget=true conditions'),
  },
  {
    changed: ['complete', 'completionTime'],
    isBroken: ({ complete, status }) => status.completionTime !== undefined && !complete,
    error: of('completionTime', 'cannot set completionTime when there is no Complete=True condition'),
  },
  {
    changed: ['complete', 'completionTime'],
    isBroken: ({ complete, status }) => status.completionTime === undefined && complete,
    error: () => required('status.completionTime', 'completionTime is required for Complete jobs'),
  },
  {
    changed: ['startTime', 'completionTime'],
    isBroken: ({ status: { startTime, completionTime } }) =>
      startTime !== undefined && completionTime !== undefined && Date.parse(completionTime) < Date.parse(startTime),
    error: of('completionTime', 'must be equal to or after `startTime`'),
  },
  {
    changed: ['failed', 'failedIndexes'],
    isBroken: ({ failed, failing }) => failed && !failing,
    error: ofConditions('cannot set Failed=True condition without the FailureTarget=true condition'),
  },
  {
    changed: ['complete', 'succeeding'],
    isBroken: ({ complete, succeeding }) => complete && !succeeding,
    error: ofConditions('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'),
  },
  {
    changed: ['finished', 'active'],
    isBroken: ({ finished, status }) => (status.active ?? 0) > 0 && finished,
    error: of('active', 'active>0 is invalid for finished job'),
  },
  {
    changed: ['finished', 'startTime'],
    isBroken: ({ finished, status, spec }) =>
      finished && status.startTime === undefined && !(spec.suspend && spec.completions === 0),
    error: () => required('status.startTime', 'startTime is required for finished job'),
  },
  {
    changed: ['finished', 'uncountedTerminatedPods'],
    isBroken: ({ finished, status: { uncountedTerminatedPods: pods } }) =>
      finished && (pods?.failed ?? []).length + (pods?.succeeded ?? []).length > 0,
    error: of('uncountedTerminatedPods', 'must be empty for finished job'),
  },
  {
    changed: ['completedIndexes'],
    isBroken: (state) => Boolean(state.status.completedIndexes) && !isIndexed(state),
    error: of('completedIndexes', 'cannot set non-empty completedIndexes when non-indexed completion mode'),
  },
  {
    changed: ['failedIndexes'],
    isBroken: ({ spec, status }) => spec.backoffLimitPerIndex === undefined && status.failedIndexes !== undefined,
    error: of('failedIndexes', 'cannot set non-null failedIndexes when backoffLimitPerIndex is null'),
  },
  {
    changed: ['finished', 'terminating'],
    isBroken: ({ finished, status }) => (status.terminating ?? 0) > 0 && finished,
    error: of('terminating', 'terminating>0 is invalid for finished job'),
  },
  {
    changed: ['ready', 'active'],
    isBroken: ({ status: { ready, active = 0 } }) => ready !== undefined && ready > active,
    error: of('ready', 'cannot set more ready pods than active'),
  },
  {
    isBroken: ({ succeeding, failed }) => succeeding && failed,
    error: ofConditions('cannot set SuccessCriteriaMet=True and Failed=true conditions'),
  },
  {
    isBroken: ({ succeeding, failing }) => succeeding && failing,
    error: ofConditions('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'),
  },
  {
    isBroken: ({ spec, succeeding, complete }) => spec.successPolicy !== undefined && !succeeding && complete,
    error: ofConditions('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True'),
  },
  ...(['failed', 'complete', 'failing'] as const).map((condition): Rule => {
    const type = { failed: 'Failed', complete: 'Complete', failing: 'FailureTarget' }[condition]
    return {
      isBroken: (state, old) => old[condition] && !state[condition],
      error: ofConditions(`cannot disable the terminal ${type}=True condition`),
    }
  }),
  {
    isBroken: ({ status }, old) => (status.failed ?? 0) < (old.status.failed ?? 0),
    error: ({ status }) => invalid('status.failed', status.failed ?? 0, 'cannot decrease the failed counter'),
  },
  {
    // Completions of an indexed Job can be made fewer.
    isBroken: (state, old) =>
      (state.status.succeeded ?? 0) < (old.status.succeeded ?? 0) &&
      !(isIndexed(state) && state.spec.completions === state.spec.parallelism),
    error: ({ status }) => invalid('status.succeeded', status.succeeded ?? 0, 'cannot decrease the succeeded counter'),
  },
  {
    isBroken: ({ status: { completionTime } }, { status: before }) =>
      completionTime !== undefined && before.completionTime !== undefined && completionTime !== before.completionTime,
    error: of('completionTime', 'field is immutable'),
  },
  {
    changed: ['startTime'],
    isBroken: ({ spec, status }, old) =>
      old.status.startTime !== undefined &&
      !spec.suspend &&
      !(holds(old.status, 'Suspended') && holds(status, 'Suspended', 'False')),
    error: of('startTime', 'field is immutable for unsuspended job once set'),
  },
  {
    isBroken: (state, old) => old.succeeding && !state.succeeding,
    error: ofConditions('cannot disable the SuccessCriteriaMet=True condition'),
  },
  {
    isBroken: (state, old) => old.complete && !old.succeeding && state.succeeding,
    error: ofConditions('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions'),
  },
]

const counters = ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const

export function validateJobStatus(job: Job, old: Job, errors: FieldErrors): void {
  const [state, before] = [stateOf(job), stateOf(old)]
  for (const name of counters) validateNotNegative(state.status[name], `status.${name}`, errors)
  const isChanged = (name: keyof State | keyof Status): boolean =>
    name in state
      ? state[name as keyof State] !== before[name as keyof State]
      : !deepEqual(state.status[name as keyof Status], before.status[name as keyof Status])
  for (const { changed, isBroken, error } of rules) {
    if ((changed?.some(isChanged) ?? true) && isBroken(state, before)) errors.push(error(state))
  }
}
