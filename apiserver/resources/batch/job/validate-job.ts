/** A job as a whole: its selector, which the server makes, and what an update may change. */
import { fromSelectorObject, matchesLabels } from '../../../../shared/api/selectors/label-selector.ts'
import type { PodSpec, PodTemplateSpec } from '../../../../shared/api/types.ts'
import { invalid, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dump } from '../../../validation/go-dump.ts'
import { type LabelSelector, validateLabelSelector } from '../../../validation/label-selector.ts'
import { dns1123Label } from '../../../validation/names.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { CONTROLLER_UID, JOB_NAME, type Job, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME } from '../../parts/job-spec/job.ts'
import { validateJobSpec } from '../../parts/job-spec/validate-spec.ts'
import { notSelected, shownSelector, validateImmutable, validateLastingSelector } from '../../parts/workload.ts'

export function validateJob(job: Job, errors: FieldErrors): void {
  validateGeneratedSelector(job, errors)
  validateSpec(job, errors)
  const { completionMode, completions = 0 } = job.spec
  const name = job.metadata.name ?? ''
  const podName = `${name}-${completions - 1}`
  if (completionMode === 'Indexed' && completions > 0 && dns1123Label(podName).length > 0)
    errors.push(invalid('metadata.name', name, `will not able to create pod with invalid DNS label: ${podName}`))
}

const matches = (selector: LabelSelector | undefined, labels: Record<string, string>): boolean | undefined => {
  const mistakes: FieldErrors = []
  validateLabelSelector(selector, '', mistakes)
  if (mistakes.length > 0) return undefined
  const requirements = fromSelectorObject(selector)
  return requirements !== undefined && matchesLabels(requirements, labels)
}

function validateSpec({ spec }: Job, errors: FieldErrors): void {
  validateJobSpec(spec, 'spec', errors)
  if (!spec.selector) errors.push(required('spec.selector'))
  else validateLabelSelector(spec.selector, 'spec.selector', errors)
  const labels = spec.template.metadata?.labels
  if (matches(spec.selector, labels ?? {}) === false) errors.push(notSelected('spec.template', labels))
}

function validateGeneratedSelector({ metadata, spec }: Job, errors: FieldErrors): void {
  if (spec.manualSelector || !spec.selector) return
  const { uid = '', name = '' } = metadata
  const expected = {
    [LEGACY_CONTROLLER_UID]: uid,
    [LEGACY_JOB_NAME]: name,
    [CONTROLLER_UID]: uid,
    [JOB_NAME]: name,
  }
  const labels = spec.template.metadata?.labels ?? {}
  for (const [key, value] of Object.entries(expected)) {
    const field = `spec.template.metadata.labels[${key}]`
    if (labels[key] === undefined) errors.push(required(field, `must be '${value}'`))
    else if (labels[key] !== value) errors.push(invalid(field, labels, `must be '${value}'`))
  }
  if (matches(spec.selector, expected) === false)
    errors.push(invalid('spec.selector', shownSelector(spec.selector), '`selector` not auto-generated'))
}

export function validateJobUpdate(job: Job, old: Job, errors: FieldErrors): void {
  validateJob(job, errors)
  validateSpec(job, errors)
  const { spec } = job
  validateCompletions(job, old, errors)
  validateLastingSelector(spec, old.spec, errors)
  validateTemplateUpdate(job, old, errors)
  validateImmutable(spec.completionMode, old.spec.completionMode, 'spec.completionMode', errors)
  validateImmutablePart('podFailurePolicy', 'PodFailurePolicy', job, old, errors)
  validateImmutable(spec.backoffLimitPerIndex, old.spec.backoffLimitPerIndex, 'spec.backoffLimitPerIndex', errors)
  validateImmutable(spec.managedBy, old.spec.managedBy, 'spec.managedBy', errors)
  validateImmutablePart('successPolicy', 'SuccessPolicy', job, old, errors)
}

function validateImmutablePart(
  name: 'podFailurePolicy' | 'successPolicy',
  type: string,
  { spec }: Job,
  old: Job,
  errors: FieldErrors,
): void {
  if (deepEqual(spec[name], old.spec[name])) return
  const shown = spec[name] && dump(`io.k8s.api.batch.v1.${type}`, spec[name])
  errors.push(invalid(`spec.${name}`, shown ?? null, 'field is immutable'))
}

function validateCompletions({ spec }: Job, old: Job, errors: FieldErrors): void {
  if (spec.completions === old.spec.completions) return
  if (spec.completionMode !== 'Indexed')
    errors.push(invalid('spec.completions', spec.completions ?? null, 'field is immutable'))
  else if (spec.completions !== spec.parallelism || old.spec.completions !== old.spec.parallelism)
    errors.push(
      invalid('spec.completions', spec.completions ?? null, 'can only be modified in tandem with spec.parallelism'),
    )
}

/** Returns the old template with the new scheduling directives, which may change before the first pod is made. */
function withSchedulingOf(old: PodTemplateSpec, template: PodTemplateSpec): PodTemplateSpec {
  const { nodeSelector, tolerations, schedulingGates, affinity } = template.spec ?? {}
  const { nodeAffinity: _, ...others } = old.spec?.affinity ?? {}
  const merged = { ...others, ...(affinity?.nodeAffinity && { nodeAffinity: affinity.nodeAffinity }) }
  const spec = { ...old.spec, nodeSelector, tolerations, schedulingGates } as PodSpec
  spec.affinity = Object.keys(merged).length > 0 ? merged : affinity && {}
  const { labels, annotations } = template.metadata ?? {}
  return { ...old, metadata: { ...old.metadata, labels, annotations }, spec }
}

/** Returns whether pods of a job that is suspended still run. */
const isSuspending = ({ status }: Job): boolean =>
  (status?.active ?? 0) > 0 ||
  (status?.startTime !== undefined &&
    !status.conditions?.some(({ type, status }) => type === 'Suspended' && status === 'True'))

/** The resources of containers may change until the job runs. Upstream: validatePodResourceUpdatesOnly. */
function withResourcesOf(old: PodSpec | undefined, spec: PodSpec | undefined): PodSpec | undefined {
  if (!old || !spec) return old
  const taken = { ...old }
  for (const list of ['containers', 'initContainers'] as const) {
    const [now, before] = [spec[list], old[list]]
    if (now?.length !== before?.length) continue
    if (before)
      taken[list] = before.map((container, index) =>
        container.name === now![index]!.name ? { ...container, resources: now![index]!.resources } : container,
      )
  }
  return taken
}

function validateTemplateUpdate({ spec }: Job, old: Job, errors: FieldErrors): void {
  const { template } = spec
  if (old.spec.suspend && !isSuspending(old)) {
    const before = withResourcesOf(withSchedulingOf(old.spec.template, template).spec, template.spec)
    if (deepEqual(template.spec, before)) return
    errors.push(invalid('spec.template.spec', dump('io.k8s.api.core.v1.PodSpec', template.spec), 'field is immutable'))
    return
  }
  const before = old.spec.template
  const isSame = deepEqual(template.metadata ?? {}, before.metadata ?? {}) && deepEqual(template.spec, before.spec)
  if (isSame) return
  const shown = dump('io.k8s.api.core.v1.PodTemplateSpec', template)
  errors.push(invalid('spec.template', shown, 'field is immutable'))
}
