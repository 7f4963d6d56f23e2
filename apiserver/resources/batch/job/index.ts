import { parseTime } from '../../../../shared/clock/timestamp.ts'
import { age, ageColumn, column, humanDuration, nameColumn } from '../../../kind/cells.ts'
import { resource } from '../../../kind/resource-definition.ts'
import { labelValueMessages } from '../../../validation/names.ts'
import { sortedByKey } from '../../../values/sorted-by-key.ts'
import { CONTROLLER_UID, JOB_NAME, type Job, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME } from '../../parts/job-spec/job.ts'
import { jobSpecWarnings } from '../../parts/job-spec/warnings.ts'
import { MAX_INT32 } from '../../parts/messages.ts'
import { defaultPodTemplate } from '../../parts/pod-template.ts'
import {
  dropDisabled,
  isNewGeneration,
  podNameWarnings,
  specChanged,
  templateCells,
  templateColumns,
} from '../../parts/workload.ts'
import { validateJob, validateJobUpdate } from './validate-job.ts'
import { validateJobStatus } from './validate-status.ts'

export const job = resource<Job>({
  group: 'batch',
  kind: 'Job',
  plural: 'jobs',
  namespaced: true,
  categories: ['all'],
  columns: [
    nameColumn,
    column('Status', 'How far the job is.'),
    column('Completions', 'Pods that succeeded, of those that must.'),
    column('Duration', 'How long it has run.'),
    ageColumn,
    ...templateColumns,
  ],
  cells: (object, nowMs) => [
    object.metadata.name,
    statusText(object),
    completionsText(object),
    durationText(object, nowMs),
    age(object.metadata.creationTimestamp, nowMs),
    ...templateCells(object.spec),
  ],
  selectableFields: { 'status.successful': ({ status }) => String(status?.succeeded ?? 0) },
  unsupportedField: (field) => `field label ${JSON.stringify(field)} not supported for Job`,
  subresources: { status: true },
  strategy: {
    applyDefaults,
    usesName: true,
    prepareForCreate(object, context) {
      const { labels = {} } = object.metadata
      const labelsAreTemplates = Object.keys(labels).length === 0 || labels === object.spec.template.metadata?.labels
      if (!object.spec.manualSelector) generateSelector(object)
      if (labelsAreTemplates && labelValueMessages(object.metadata.name ?? '').length === 0)
        object.metadata.labels = { ...object.spec.template.metadata?.labels }
      object.status = {}
      dropDisabled(object, undefined, context)
    },
    prepareForUpdate(object, old, context) {
      if (context.subresource !== 'status') dropDisabled(object, old, context)
    },
    validate: validateJob,
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource === 'status') validateJobStatus(object, old, errors)
      else validateJobUpdate(object, old, errors)
    },
    warnings(job, old, { subresource }) {
      if (subresource !== undefined || (old && !isNewGeneration(job, old))) return []
      return [...(old ? [] : podNameWarnings(job.metadata)), ...jobSpecWarnings(job.spec, 'spec')]
    },
    generation: { changed: specChanged },
    deletionWarnings: ({ propagationPolicy, orphanDependents }) =>
      propagationPolicy === undefined && orphanDependents === undefined ? [podsStay] : [],
  },
  example: {
    metadata: { name: 'once' },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'once', image: 'busybox:1.37' }] } } },
  },
})

const podsStay =
  'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning'

const DEFAULT_RETRIES = 6

function applyDefaults({ metadata, spec }: Job): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
  spec.parallelism ??= 1
  if (spec.backoffLimit === undefined)
    spec.backoffLimit = spec.backoffLimitPerIndex === undefined ? DEFAULT_RETRIES : MAX_INT32
  const labels = spec.template.metadata?.labels ?? {}
  // The same map, as upstream: the job also gets what is added to its template's labels.
  if (Object.keys(labels).length > 0 && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = labels
  spec.completionMode ??= 'NonIndexed'
  spec.suspend ??= false
  spec.manualSelector ??= false
  for (const rule of spec.podFailurePolicy?.rules ?? [])
    for (const condition of rule.onPodConditions ?? []) condition.status ||= 'True'
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed'
  defaultPodTemplate(spec.template)
}

/** The pods are found by the job's uid. Labels that were given stay, and are refused if they are others. */
function generateSelector({ metadata, spec }: Job): void {
  const { uid = '', name = '' } = metadata
  const own = {
    [CONTROLLER_UID]: uid,
    [JOB_NAME]: name,
    [LEGACY_CONTROLLER_UID]: uid,
    [LEGACY_JOB_NAME]: name,
  }
  spec.template.metadata = {
    ...spec.template.metadata,
    labels: sortedByKey({ ...own, ...spec.template.metadata?.labels }),
  }
  const matchLabels = { [CONTROLLER_UID]: uid, ...spec.selector?.matchLabels }
  spec.selector = { ...spec.selector, matchLabels: sortedByKey(matchLabels) }
}

const phases = ['Complete', 'Failed']
const laterPhases = ['FailureTarget', 'SuccessCriteriaMet']
function statusText({ metadata, status }: Job): string {
  const holds = (type: string) => status?.conditions?.some((found) => found.type === type && found.status === 'True')
  return (
    phases.find(holds) ??
    (metadata.deletionTimestamp ? 'Terminating' : undefined) ??
    (holds('Suspended') ? 'Suspended' : undefined) ??
    laterPhases.find(holds) ??
    'Running'
  )
}

function completionsText({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`
  const parallelism = spec.parallelism ?? 0
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function durationText({ status }: Job, nowMs: number): string {
  if (!status?.startTime) return ''
  return humanDuration((status.completionTime ? parseTime(status.completionTime) : nowMs) - parseTime(status.startTime))
}
