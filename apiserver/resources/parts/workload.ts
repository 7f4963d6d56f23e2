/** Makes the kinds that have pods of a template. */

import {
  formatSelectorObject,
  fromSelectorObject,
  type LabelSelectorObject,
  matchesLabels,
  type Requirement,
} from '../../../shared/api/selectors/label-selector.ts'
import type { ObjectMeta, PodTemplateSpec } from '../../../shared/api/types.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import { column, wide } from '../../kind/cells.ts'
import type { Strategy, StrategyContext } from '../../kind/resource-definition.ts'
import { zeroOf } from '../../validation/decoder.ts'
import { forbidden, invalid, notSupported, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { dump } from '../../validation/go-dump.ts'
import { type LabelSelector, validateLabelSelector } from '../../validation/label-selector.ts'
import { dns1123Label } from '../../validation/names.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import { sortedByKey } from '../../values/sorted-by-key.ts'
import {
  containerImages,
  containerNames,
  dropDisabledTemplateFields,
  podTemplateWarnings,
  validatePodTemplate,
} from './pod-template.ts'

export interface WorkloadSpec {
  selector?: LabelSelector
  template: PodTemplateSpec
}
export interface Workload {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  spec: WorkloadSpec
  status?: unknown
}

export const containerColumns = [
  column('Containers', 'Names of each container in the template.', wide),
  column('Images', 'Images referenced by each container in the template.', wide),
]
export const templateColumns = [...containerColumns, column('Selector', 'Which pods are taken for its own.', wide)]
export const containerCells = ({ template }: WorkloadSpec): string[] => [
  containerNames(template),
  containerImages(template),
]
export const templateCells = (spec: WorkloadSpec): string[] => [...containerCells(spec), selectorText(spec.selector)]

interface Templated {
  metadata: ObjectMeta
  spec: { template?: PodTemplateSpec }
  status?: unknown
}
interface WorkloadRules<T extends Templated> extends Pick<Strategy<T>, 'validateName'> {
  /** The definition of its status, which is empty in a new object. */
  statusSchema: string
  applyDefaults(object: T): void
  validateSpec(spec: T['spec'], errors: FieldErrors, old?: T['spec']): void
  /** Refuses what an update may not change. */
  validateLasting?(spec: T['spec'], old: T['spec'], errors: FieldErrors): void
  validateStatus(object: T, old: T, errors: FieldErrors): void
  /** Removes fields of features that are off, unless the old object has them. */
  dropGated?(spec: T['spec'], old: T['spec'] | undefined, featureGates: FeatureGates): void
  /** True if its name is a part of its pods' names, so that it warns of one that is too long or has dots. */
  namesPods?: boolean
  /** Returns whether to warn of the template; by default if the generation has changed. */
  hasNewTemplate?(object: T, old: T): boolean
  /** Warns of the rest of the spec. */
  warnings?(spec: T['spec'], old: T | undefined): string[]
}
/**
 * Returns the strategy of a kind with a pod template: a write changes either everything but the status, or the status
 * alone.
 */
export const workloadStrategy = <T extends Templated>(rules: WorkloadRules<T>) =>
  ({
    ...(rules.validateName && { validateName: rules.validateName }),
    applyDefaults: rules.applyDefaults,
    prepareForCreate(object, context) {
      object.status = zeroOf(rules.statusSchema)
      dropDisabled(object, undefined, context)
      rules.dropGated?.(object.spec, undefined, context.featureGates)
    },
    prepareForUpdate(object, old, context) {
      if (context.subresource === 'status') return
      dropDisabled(object, old, context)
      rules.dropGated?.(object.spec, old.spec, context.featureGates)
    },
    validate: ({ spec }, errors) => rules.validateSpec(spec, errors),
    validateUpdate(object, old, errors, { subresource }) {
      if (subresource === 'status') return rules.validateStatus(object, old, errors)
      rules.validateSpec(object.spec, errors, old.spec)
      rules.validateLasting?.(object.spec, old.spec, errors)
    },
    warnings(object, old, { subresource }) {
      // A write of the scale is one of the spec.
      if (subresource === 'status') return []
      const hasNewTemplate = !old || (rules.hasNewTemplate ?? isNewGeneration)(object, old)
      return [
        ...(rules.namesPods && !old ? podNameWarnings(object.metadata) : []),
        ...(hasNewTemplate ? podTemplateWarnings(object.spec.template ?? {}, 'spec.template') : []),
        ...(rules.warnings?.(object.spec, old) ?? []),
      ]
    },
    generation: { changed: specChanged },
  }) satisfies Strategy<T>

export function dropDisabled({ spec }: Templated, old: Templated | undefined, { featureGates }: StrategyContext): void {
  if (spec.template) dropDisabledTemplateFields(spec.template, old?.spec.template, featureGates)
}

/** Upstream warns of templates by the generation, which the replicas change as well. */
export const isNewGeneration = ({ metadata }: { metadata: ObjectMeta }, old: { metadata: ObjectMeta }): boolean =>
  metadata.generation !== old.metadata.generation

export function podNameWarnings({ name }: ObjectMeta): string[] {
  const messages = name ? dns1123Label(name) : []
  if (messages.length === 0) return []
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${messages.join(' ')}]`,
  ]
}

export const specChanged = (object: { spec?: unknown }, old: { spec?: unknown }): boolean =>
  !deepEqual(object.spec, old.spec)
/** Returns whether the spec or the annotations have changed: controllers read some of the annotations. */
export const specOrAnnotationsChanged = (object: Workload, old: Workload): boolean =>
  specChanged(object, old) || !deepEqual(object.metadata.annotations ?? {}, old.metadata.annotations ?? {})

export const isEmptySelector = ({ matchLabels, matchExpressions }: LabelSelector): boolean =>
  Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0

/** A selector as requirements; an error where it is not one. */
function requirementsOf(selector: LabelSelector | undefined): readonly Requirement[] | undefined | Error {
  const scratch: FieldErrors = []
  validateLabelSelector(selector, '', scratch)
  return scratch.length > 0 ? new Error('invalid label selector') : fromSelectorObject(selector)
}

/** `kind` is what the message about an empty selector names. */
export function validateSelector(selector: LabelSelector | undefined, kind: string, errors: FieldErrors): void {
  if (!selector) {
    errors.push(required('spec.selector'))
    return
  }
  validateLabelSelector(selector, 'spec.selector', errors)
  if (isEmptySelector(selector)) {
    errors.push(invalid('spec.selector', shownSelector(selector), `empty selector is invalid for ${kind}`))
  }
}

/** A selector as Go prints it: its fields in their order, maps by their keys, and nothing that is empty. */
export const shownSelector = ({ matchLabels = {}, matchExpressions }: LabelSelector = {}) => ({
  ...(Object.keys(matchLabels).length > 0 && { matchLabels: sortedByKey(matchLabels) }),
  ...(matchExpressions?.length && {
    matchExpressions: matchExpressions.map(({ key, operator, values }) => ({
      key,
      operator,
      ...(values?.length && { values }),
    })),
  }),
})

/** The template's labels must be selected. False when the selector is none that could be asked. */
export function validateSelected(
  { selector, template }: WorkloadSpec,
  errors: FieldErrors,
  { detail = 'invalid label selector', sayInvalid = true } = {},
): boolean {
  const requirements = requirementsOf(selector)
  if (requirements instanceof Error) {
    if (sayInvalid) errors.push(invalid('spec.selector', shownSelector(selector), detail))
    return false
  }
  const labels = template.metadata?.labels
  if (!requirements || !matchesLabels(requirements, labels)) errors.push(notSelected('spec.template', labels))
  return true
}

export const notSelected = (path: string, labels: Record<string, string> | undefined) =>
  invalid(`${path}.metadata.labels`, labels ? sortedByKey(labels) : null, '`selector` does not match template `labels`')

/**
 * Validates a template whose pods run forever: restartPolicy must be Always, and activeDeadlineSeconds is forbidden.
 */
export function validateLastingTemplate(
  template: PodTemplateSpec,
  errors: FieldErrors,
  deadlineDetail = 'activeDeadlineSeconds in ReplicaSet is not Supported',
  validateMore?: (path: string) => void,
): void {
  validatePodTemplate(template, 'spec.template', errors)
  validateMore?.('spec.template')
  const { restartPolicy, activeDeadlineSeconds } = template.spec ?? {}
  if (restartPolicy !== 'Always')
    errors.push(notSupported('spec.template.spec.restartPolicy', restartPolicy ?? '', ['Always']))
  if (activeDeadlineSeconds !== undefined)
    errors.push(forbidden('spec.template.spec.activeDeadlineSeconds', deadlineDetail))
}

/** Returns a selector as `kubectl get -o wide` shows it: `a=b,x in (1,2)`. */
export const selectorText = (selector: LabelSelectorObject | undefined): string =>
  requirementsOf(selector) instanceof Error ? '<error>' : formatSelectorObject(selector) || '<none>'

/** Says what may not change and has, as the Go struct of the schema where there is one. */
export function validateImmutable(
  value: unknown,
  old: unknown,
  field: string,
  errors: FieldErrors,
  schema?: string,
): void {
  if (deepEqual(value, old)) return
  const shown = schema === undefined || value === undefined ? value : dump(schema, value)
  errors.push(invalid(field, shown ?? null, 'field is immutable'))
}
export const validateLastingSelector = (spec: WorkloadSpec, old: WorkloadSpec, errors: FieldErrors): void =>
  validateImmutable(
    spec.selector && shownSelector(spec.selector),
    old.selector && shownSelector(old.selector),
    'spec.selector',
    errors,
  )

/** Returns the selector and the template of an example's spec. */
export const examplePods = (name: string) => ({
  selector: { matchLabels: { app: name } },
  template: { metadata: { labels: { app: name } }, spec: { containers: [{ name, image: 'busybox:1.37' }] } },
})
