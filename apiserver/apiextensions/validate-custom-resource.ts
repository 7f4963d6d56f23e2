import type { KubeObject } from '../../shared/api/types.ts'
import type { ScaleAccess } from '../kind/scale-access.ts'
import { NO_FIELD } from '../schema/field-error.ts'
import { type JSONSchemaProps, ownProperty } from '../schema/json-schema.ts'
import { validateListTypes } from '../schema/list-types.ts'
import { SchemaWork } from '../schema/schema-work.ts'
import { validateValue } from '../schema/value-validator.ts'
import { invalid } from '../validation/field-error.ts'
import type { FieldError } from '../validation/field-errors.ts'
import type { WorkLimits } from '../work-limits.ts'
import { validateEmbedded } from './object-meta.ts'

/** Holds everything that objects of one version of a custom resource are validated against. */
export interface ValidationRules {
  apiVersion: string
  kind: string
  schema: JSONSchemaProps
  scale?: ScaleAccess
  /** The schema's x-kubernetes-validations; absent when it has none. */
  rules?: RuleCheck
  limits: WorkLimits
}
/** Receives what breaks a rule and did not change: that is no error. */
type Warn = (text: string) => void
/** Holds `value` against the rules in `schema` and below it. */
export type RuleCheck = (
  value: unknown,
  old: unknown,
  schema: JSONSchemaProps,
  path: string,
  warn?: Warn,
) => FieldError[]

/**
 * Validates a whole object for create and update. On update, errors that `old` had already are ignored where the values
 * have not changed.
 */
export function validateCustomResource(
  object: KubeObject,
  old: KubeObject | undefined,
  version: ValidationRules,
  warn?: Warn,
): FieldError[] {
  const { schema, scale } = version
  const value = whole(object, version)
  const before = old && whole(old, version)
  const work = new SchemaWork(version.limits)
  const errors = [
    ...validateValue(value, schema, { old: before, work }),
    ...(scale === undefined ? [] : [...scaleErrors(object, scale, 'spec'), ...scaleErrors(object, scale, 'status')]),
    ...validateEmbedded(object, schema),
    ...newListErrors(object, old, schema, work),
  ]
  return [...errors, ...checkRules({ value, old: before, warn }, version, errors)]
}

/** Validates a write of the status subresource: values in the status only, rules in the whole object. */
export function validateCustomResourceStatus(
  object: KubeObject,
  old: KubeObject,
  version: ValidationRules,
  warn?: Warn,
): FieldError[] {
  const { schema, scale } = version
  const statusSchema = ownProperty(schema.properties, 'status')
  const work = new SchemaWork(version.limits)
  const errors = [
    ...(statusSchema === undefined || object.status === undefined
      ? []
      : validateValue(object.status, statusSchema, { path: 'status', old: old.status, work })),
    ...(scale === undefined ? [] : scaleErrors(object, scale, 'status')),
    ...newListErrors(object, old, schema, work),
  ]
  return [...errors, ...checkRules({ value: whole(object, version), old: whole(old, version), warn }, version, errors)]
}

/** A list whose items were not unique before may stay so. */
function newListErrors(
  object: KubeObject,
  old: KubeObject | undefined,
  schema: JSONSchemaProps,
  work: SchemaWork,
): FieldError[] {
  if (work.isSpent) return []
  const errors = validateListTypes(object, schema, work)
  if (errors.length === 0 || old === undefined || work.isSpent) return errors
  return validateListTypes(old, schema, work).length > 0 && !work.isSpent ? [] : errors
}

/** Objects are stored without saying what they are; schemas may still speak of it. */
const whole = (object: KubeObject, { apiVersion, kind }: ValidationRules): KubeObject => ({
  apiVersion,
  kind,
  ...object,
})

const MAX_REPLICAS = 2 ** 31 - 1

/** The paths of the scale subresource lead to numbers that can count replicas, and to a text that selects. */
function scaleErrors(object: KubeObject, scale: ScaleAccess, part: 'spec' | 'status'): FieldError[] {
  const path = part === 'spec' ? scale.specReplicasPath : scale.statusReplicasPath
  const problem = scale.problem(object, part)
  const replicas = problem ? 0 : part === 'spec' ? scale.specReplicas(object) : scale.statusReplicas(object)
  const errors: FieldError[] = []
  if (problem) errors.push(invalid(path, 0, problem))
  else if (replicas !== undefined && replicas < 0)
    errors.push(invalid(path, replicas, 'should be a non-negative integer'))
  else if (replicas !== undefined && replicas > MAX_REPLICAS)
    errors.push(invalid(path, replicas, `should be less than or equal to ${MAX_REPLICAS}`))
  const selectorProblem = part === 'status' && scale.selectorPath && scale.problem(object, 'selector')
  if (selectorProblem) errors.push(invalid(scale.selectorPath!, '', selectorProblem))
  return errors
}

/** Errors after which rules could meet what they do not expect. */
const BLOCKING = new Set<string>([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])
function checkRules(
  { value, old, warn }: { value: KubeObject; old: KubeObject | undefined; warn?: Warn },
  { rules, schema }: ValidationRules,
  errors: FieldError[],
): FieldError[] {
  if (rules === undefined) return []
  if (errors.some(({ type, limit }) => BLOCKING.has(type) || limit === 'maxSchemaSteps'))
    return [
      invalid(
        NO_FIELD,
        null,
        'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
      ),
    ]
  return rules(value, old, schema, '', warn)
}
