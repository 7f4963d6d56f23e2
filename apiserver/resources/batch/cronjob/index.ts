import type { V1CronJobSpec, V1CronJobStatus } from '@kubernetes/client-node'
import type { ObjectMeta, Wire } from '../../../../shared/api/types.ts'
import { age, ageColumn, column, nameColumn } from '../../../kind/cells.ts'
import { resource } from '../../../kind/resource-definition.ts'
import { invalid, notSupported, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import type { JobSpec } from '../../parts/job-spec/job.ts'
import { validateJobSpec } from '../../parts/job-spec/validate-spec.ts'
import { jobSpecWarnings } from '../../parts/job-spec/warnings.ts'
import { validateChoice, validateNotNegative } from '../../parts/messages.ts'
import { defaultPodTemplate, dropDisabledTemplateFields } from '../../parts/pod-template.ts'
import { isNewGeneration, podNameWarnings, specChanged, templateCells, templateColumns } from '../../parts/workload.ts'
import { hasTimeZone, scheduleProblem, zoneProblem } from './schedule.ts'

type Spec = Omit<Wire<V1CronJobSpec>, 'jobTemplate'> & { jobTemplate: { metadata?: ObjectMeta; spec: JobSpec } }
interface CronJob {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: Spec
  status?: Wire<V1CronJobStatus>
}

export const cronjob = resource<CronJob>({
  group: 'batch',
  kind: 'CronJob',
  plural: 'cronjobs',
  namespaced: true,
  shortNames: ['cj'],
  categories: ['all'],
  columns: [
    nameColumn,
    column('Schedule', 'When it runs.'),
    column('Timezone', 'Whose time the schedule is in.'),
    column('Suspend', 'Whether it is held.', { type: 'boolean' }),
    column('Active', 'Jobs that run now.', { type: 'integer' }),
    column('Last Schedule', 'When it last ran.'),
    ageColumn,
    ...templateColumns,
  ],
  cells: ({ metadata, spec, status }, nowMs) => [
    metadata.name,
    spec.schedule,
    spec.timeZone ?? '<none>',
    spec.suspend === undefined ? '<unset>' : spec.suspend ? 'True' : 'False',
    status?.active?.length ?? 0,
    status?.lastScheduleTime ? age(status.lastScheduleTime, nowMs) : '<none>',
    age(metadata.creationTimestamp, nowMs),
    ...templateCells(spec.jobTemplate.spec),
  ],
  subresources: { status: true },
  strategy: {
    applyDefaults({ spec }) {
      spec.concurrencyPolicy ||= 'Allow'
      spec.suspend ??= false
      spec.successfulJobsHistoryLimit ??= 3
      spec.failedJobsHistoryLimit ??= 1
      defaultPodTemplate(spec.jobTemplate.spec.template)
    },
    prepareForCreate(object, { featureGates }) {
      object.status = {}
      dropDisabledTemplateFields(object.spec.jobTemplate.spec.template, undefined, featureGates)
    },
    prepareForUpdate(object, old, { featureGates, subresource }) {
      if (subresource === 'status') return
      const { template } = object.spec.jobTemplate.spec
      dropDisabledTemplateFields(template, old.spec.jobTemplate.spec.template, featureGates)
    },
    validate({ metadata, spec }, errors) {
      validateSpec(spec, errors, { mayHaveZone: false })
      const { name = '' } = metadata
      if (name.length > MAX_NAME)
        errors.push(invalid('metadata.name', name, `must be no more than ${MAX_NAME} characters`))
    },
    validateUpdate({ spec }, old, errors, { subresource }) {
      if (subresource !== 'status') validateSpec(spec, errors, { mayHaveZone: hasTimeZone(old.spec.schedule) })
    },
    warnings,
    generation: { changed: specChanged },
  },
  example: {
    metadata: { name: 'nightly' },
    spec: {
      schedule: '0 3 * * *',
      jobTemplate: {
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'job', image: 'busybox:1.37' }] } } },
      },
    },
  },
})

/** Limits the name: names of its jobs have eleven characters more. */
const MAX_NAME = 52
const concurrencyPolicies = ['Allow', 'Forbid', 'Replace']
const ZONE_IN_SCHEDULE = 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'

function validateSpec(spec: Spec, errors: FieldErrors, { mayHaveZone }: { mayHaveZone: boolean }): void {
  const { schedule, timeZone, concurrencyPolicy } = spec
  if (!schedule) errors.push(required('spec.schedule'))
  else validateSchedule(schedule, timeZone, mayHaveZone, errors)
  validateNotNegative(spec.startingDeadlineSeconds, 'spec.startingDeadlineSeconds', errors)
  validateTimeZone(timeZone, errors)
  if (!concurrencyPolicy) errors.push(required('spec.concurrencyPolicy'))
  else validateChoice(concurrencyPolicy, concurrencyPolicies, 'spec.concurrencyPolicy', errors)
  validateJobTemplate(spec.jobTemplate.spec, errors)
  validateNotNegative(spec.successfulJobsHistoryLimit, 'spec.successfulJobsHistoryLimit', errors)
  validateNotNegative(spec.failedJobsHistoryLimit, 'spec.failedJobsHistoryLimit', errors)
}

function validateSchedule(
  schedule: string,
  timeZone: string | undefined,
  mayHaveZone: boolean,
  errors: FieldErrors,
): void {
  const problem = scheduleProblem(schedule)
  if (problem) errors.push(invalid('spec.schedule', schedule, problem))
  if (!hasTimeZone(schedule)) return
  if (mayHaveZone && timeZone !== undefined)
    errors.push(invalid('spec.schedule', schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'))
  else if (!mayHaveZone) errors.push(invalid('spec.schedule', schedule, ZONE_IN_SCHEDULE))
}

function validateTimeZone(zone: string | undefined, errors: FieldErrors): void {
  if (zone === undefined) return
  const refuse = (detail: string) => errors.push(invalid('spec.timeZone', zone, detail))
  if (zone === '') refuse('timeZone must be nil or non-empty string')
  else {
    if (zone.toLowerCase() === 'local')
      refuse('timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones')
    const problem = zone === 'Local' ? undefined : zoneProblem(zone)
    if (problem) refuse(problem)
  }
}

function validateJobTemplate(spec: JobSpec, errors: FieldErrors): void {
  const at = 'spec.jobTemplate.spec'
  validateJobSpec(spec, at, errors)
  if (spec.selector) errors.push(invalid(`${at}.selector`, spec.selector, '`selector` will be auto-generated'))
  if (spec.manualSelector) errors.push(notSupported(`${at}.manualSelector`, true, ['nil', 'false']))
}

function warnings(job: CronJob, old: CronJob | undefined, { subresource }: { subresource?: string }): string[] {
  if (subresource !== undefined) return []
  const { metadata, spec } = job
  const isNew = !old || isNewGeneration(job, old)
  return [
    ...(old ? [] : podNameWarnings(metadata)),
    ...(isNew ? jobSpecWarnings(spec.jobTemplate.spec, 'spec.jobTemplate.spec') : []),
    ...(old && hasTimeZone(spec.schedule) ? [OLD_ZONE] : []),
  ]
}

const OLD_ZONE =
  'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details'
