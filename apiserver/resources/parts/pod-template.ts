/** The rules of a pod template, wherever one is embedded. */
import type { PodSpec, PodTemplateSpec } from '../../../shared/api/types.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import { forbidden } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { validateAnnotations, validateLabels } from '../../validation/object-meta.ts'
import { defaultPodSpec } from './pod-spec/defaults.ts'
import { dropDisabledFields } from './pod-spec/gated-fields.ts'
import { validatePodAnnotations } from './pod-spec/validate-annotations.ts'
import { validatePodSpec } from './pod-spec/validate-spec.ts'
import { specWarnings } from './pod-spec/warnings.ts'

const specOf = ({ spec }: PodTemplateSpec): PodSpec => spec ?? { containers: [] }

export function defaultPodTemplate({ spec }: PodTemplateSpec): void {
  if (spec) defaultPodSpec(spec)
}

/** Takes out fields behind a gate that is off, unless the stored template has them. */
export function dropDisabledTemplateFields(
  template: PodTemplateSpec,
  old: PodTemplateSpec | undefined,
  featureGates: FeatureGates,
): void {
  if (template.spec) dropDisabledFields(template.spec, old?.spec, featureGates)
}

/** `path` is where the template stands, e.g. `spec.template`. */
export function validatePodTemplate(template: PodTemplateSpec, path: string, errors: FieldErrors): void {
  const { labels, annotations } = template.metadata ?? {}
  const spec = specOf(template)
  validateLabels(labels, `${path}.labels`, errors)
  validateAnnotations(annotations, `${path}.annotations`, errors)
  validatePodAnnotations(template.metadata ?? {}, spec, `${path}.annotations`, errors)
  validatePodSpec(spec, { path: `${path}.spec` }, errors)
  if (spec.ephemeralContainers?.length) {
    errors.push(forbidden(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template'))
  }
}

export const podTemplateWarnings = (template: PodTemplateSpec, path: string): string[] =>
  specWarnings(template.metadata ?? {}, specOf(template), `${path}.`)

const joined = (values: (string | undefined)[]): string => values.join(',')

/** Names of its containers, and their images, as cells show them. */
export const containerNames = ({ spec }: PodTemplateSpec): string =>
  joined((spec?.containers ?? []).map(({ name }) => name))
export const containerImages = ({ spec }: PodTemplateSpec): string =>
  joined((spec?.containers ?? []).map(({ image }) => image))
/** Labels as a selector would be written. */
export const labelText = (labels: Record<string, string> | undefined): string =>
  joined(
    Object.entries(labels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .sort(),
  ) || '<none>'
