import { parseFieldSelector } from '../../../shared/api/selectors/field-selector.ts'
import { parseLabelSelector } from '../../../shared/api/selectors/label-selector.ts'
import type { KubeObject, ObjectMeta } from '../../../shared/api/types.ts'
import type { Attributes, Decision } from '../../auth/types.ts'
import type { User } from '../../kind/user.ts'
import { inOrderOfFields } from '../../patch/patched-text.ts'
import type { RequestScope } from '../../registry/write-context.ts'
import { invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { labelValueMessages, qualifiedName } from '../../validation/names.ts'
import type { ApiContext } from '../api-context.ts'
import { refuseReview, review } from './review.ts'

interface SelectorAttributes {
  rawSelector?: string
  requirements?: { key: string; operator: string; values?: string[] }[]
}
interface ResourceAttributes {
  namespace?: string
  verb?: string
  group?: string
  resource?: string
  subresource?: string
  name?: string
  fieldSelector?: SelectorAttributes
  labelSelector?: SelectorAttributes
}
export interface AccessReview extends KubeObject {
  spec: {
    resourceAttributes?: ResourceAttributes
    nonResourceAttributes?: { path?: string; verb?: string }
    user?: string
    groups?: string[]
    uid?: string
    extra?: Record<string, string[]>
  }
}

const undecided = { allowed: false }
const metadataSchema = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

/** May I? Upstream of all three: pkg/registry/authorization, pkg/apis/authorization/validation. */
export const selfSubjectAccessReview = review<AccessReview>(undecided, async (object, { api, scope }) => {
  const errors = specErrors(object)
  validateSelectors(object, errors)
  validateMetadata(object.metadata, errors)
  refuseReview(scope, errors)
  object.status = await answer(api, object, scope.user)
})

/** May they? */
export const subjectAccessReview = review<AccessReview>(undecided, async (object, { api, scope }) => {
  await reviewSubject(api, scope, object)
})

/** Fills in the status of a SubjectAccessReview. */
export async function reviewSubject(api: ApiContext, scope: RequestScope, object: AccessReview): Promise<void> {
  const errors = subjectErrors(object)
  validateMetadata(object.metadata, errors)
  refuseReview(scope, errors)
  object.status = await answer(api, object, subjectOf(object))
}

/** May they, in this namespace? */
export const localSubjectAccessReview = review<AccessReview>(undecided, async (object, { api, scope }) => {
  refuseReview(scope, localErrors(object, scope))
  object.status = await answer(api, object, subjectOf(object))
})

function localErrors(object: AccessReview, { namespace = '' }: RequestScope): FieldErrors {
  const errors = subjectErrors(object)
  const { resourceAttributes, nonResourceAttributes } = object.spec
  validateMetadata(object.metadata, errors, ['namespace'])
  const asked = resourceAttributes?.namespace ?? ''
  if (resourceAttributes && asked !== namespace) {
    errors.push(invalid('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace'))
  }
  if (nonResourceAttributes) {
    const detail = 'disallowed on this kind of request'
    errors.push(invalid('spec.nonResourceAttributes', goPath(nonResourceAttributes), detail))
  }
  return errors
}

function specErrors({ spec: { resourceAttributes, nonResourceAttributes } }: AccessReview): FieldErrors {
  const errors: FieldErrors = []
  if (resourceAttributes && nonResourceAttributes) {
    const detail = 'cannot be specified in combination with resourceAttributes'
    errors.push(invalid('spec.nonResourceAttributes', goPath(nonResourceAttributes), detail))
  }
  if (!resourceAttributes && !nonResourceAttributes) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    errors.push(invalid('spec.resourceAttributes', null, detail))
  }
  return errors
}

function subjectErrors(object: AccessReview): FieldErrors {
  const errors = specErrors(object)
  const { user = '', groups = [] } = object.spec
  if (!user && groups.length === 0) {
    errors.push(invalid('spec.user', '', 'at least one of user or group must be specified'))
  }
  validateSelectors(object, errors)
  return errors
}

/** Returns a path as a real server prints it in messages. */
const goPath = ({ path = '', verb = '' }: { path?: string; verb?: string }) => ({ Path: path, Verb: verb })

function validateSelectors({ spec: { resourceAttributes = {} } }: AccessReview, errors: FieldErrors): void {
  for (const name of ['fieldSelector', 'labelSelector'] as const) {
    const selector = resourceAttributes[name]
    if (!selector) continue
    const at = `spec.resourceAttributes.${name}`
    const { rawSelector = '', requirements = [] } = selector
    if (rawSelector && requirements.length > 0) {
      errors.push(invalid(`${at}.rawSelector`, rawSelector, 'may not specified at the same time as requirements'))
    }
    if (!rawSelector && requirements.length === 0) {
      errors.push(required(`${at}.requirements`, `when ${at} is specified, requirements or rawSelector is required`))
    }
    for (const [index, { key, operator, values = [] }] of requirements.entries()) {
      const path = `${at}.requirements[${index}].values`
      if ((operator === 'In' || operator === 'NotIn') && values.length === 0) {
        errors.push(required(path, "must be specified when `operator` is 'In' or 'NotIn'"))
      } else if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0) {
        errors.push({
          type: 'FieldValueForbidden',
          field: path,
          detail: "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        })
      }
      if (name === 'labelSelector') {
        const refuse = (field: string, value: string, messages: readonly string[]) =>
          errors.push(...messages.map((message) => invalid(field, value, message)))
        refuse(`${at}.requirements[${index}].key`, key, qualifiedName(key))
        for (const [place, value] of values.entries()) refuse(`${path}[${place}]`, value, labelValueMessages(value))
      }
    }
  }
}

/** Refuses all metadata but managedFields, which the server itself sets, and the fields that `except` names. */
function validateMetadata(metadata: ObjectMeta, errors: FieldErrors, except: string[] = []): void {
  const allowed = ['managedFields', ...except]
  if (Object.entries(metadata).every(([name, value]) => value === undefined || allowed.includes(name))) return
  const detail = ['must be empty', ...except].join(' except for ')
  errors.push(invalid('metadata', inOrderOfFields({ ...metadata }, metadataSchema), detail))
}

const subjectOf = ({ spec: { user = '', groups = [], uid, extra } }: AccessReview): User => ({
  name: user,
  groups,
  uid,
  extra,
})

async function answer({ access }: ApiContext, review: AccessReview, user: User): Promise<object> {
  const { verdict, reason }: Decision = await access.decide(attributesOf(review, user))
  const evaluationError = selectorProblems(review.spec.resourceAttributes ?? {}).join('; ')
  return {
    allowed: verdict === 'allow',
    ...(verdict === 'deny' && { denied: true }),
    ...(reason && { reason }),
    ...(evaluationError && { evaluationError }),
  }
}

/** Upstream: pkg/registry/authorization/util, BuildEvaluationError. */
function selectorProblems({ fieldSelector, labelSelector }: ResourceAttributes): string[] {
  const partOf = (name: string, { rawSelector, requirements = [] }: SelectorAttributes, read: Read): string[] => {
    const parts = requirements.length > 0 ? requirements.map(read.requirement) : rawSelector ? [rawSelector] : []
    const good = parts.filter((part) => part !== undefined && isReadable(part, read.parse)).length
    const how = good > 0 ? 'partially ignored' : 'ignored'
    return good < parts.length ? [`spec.resourceAttributes.${name} ${how} due to parse error`] : []
  }
  return [
    ...partOf('fieldSelector', fieldSelector ?? {}, fieldReader),
    ...partOf('labelSelector', labelSelector ?? {}, labelReader),
  ]
}

type Requirement = NonNullable<SelectorAttributes['requirements']>[number]
interface Read {
  /** Returns the requirement as a selector's text; undefined if its operator or its number of values does not fit. */
  requirement(requirement: Requirement): string | undefined
  parse(text: string): unknown
}

const fieldReader: Read = {
  requirement: ({ key, operator, values = [] }) =>
    ['In', 'NotIn'].includes(operator) && values.length === 1 ? `${key}=${escapeFieldValue(values[0]!)}` : undefined,
  parse: parseFieldSelector,
}
const labelReader: Read = {
  requirement({ key, operator, values = [] }) {
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    const operators: { [operator: string]: string } = { In: 'in', NotIn: 'notin' }
    return Object.hasOwn(operators, operator) ? `${key} ${operators[operator]} (${values.join(',')})` : undefined
  },
  parse: parseLabelSelector,
}

const escapeFieldValue = (value: string): string => value.replaceAll(/[\\,=]/g, '\\$&')

function isReadable(text: string, parse: Read['parse']): boolean {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}

function attributesOf({ spec }: AccessReview, user: User): Attributes {
  if (!spec.resourceAttributes) {
    const { path = '', verb = '' } = spec.nonResourceAttributes ?? {}
    return { user, verb, path }
  }
  const { verb = '', group = '', resource = '', subresource, namespace, name, fieldSelector } = spec.resourceAttributes
  const requested = { group, resource, subresource, namespace, name, fieldSelector: selectorText(fieldSelector) }
  return { user, verb, path: '', resource: requested }
}

/** Returns the selector as a URL has it. Requirements of other fields are left out, which makes the answer stricter. */
function selectorText({ rawSelector, requirements = [] }: SelectorAttributes = {}): string | undefined {
  if (rawSelector) return rawSelector
  const terms = requirements.flatMap(({ key, operator, values = [] }) =>
    operator === 'In' && values.length === 1 ? [`${key}=${values[0]}`] : [],
  )
  return terms.length > 0 ? terms.join(',') : undefined
}
