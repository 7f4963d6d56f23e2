/** Validates selectors of nodes, which pods and volumes have in common. */
import type { V1NodeSelectorRequirement } from '@kubernetes/client-node'
import type { Wire } from '../../../shared/api/types.ts'
import { invalid, required } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { NOT_AN_OPERATOR, validateOperator } from '../../validation/label-selector.ts'
import { dns1123Subdomain, labelValueMessages, qualifiedName } from '../../validation/names.ts'
import { reject } from './messages.ts'

type Requirement = Wire<V1NodeSelectorRequirement>
interface NodeTerm {
  matchExpressions?: Requirement[]
  matchFields?: Requirement[]
}
interface NodeSelector {
  nodeSelectorTerms?: NodeTerm[]
}

/** Validates a node selector. Upstream: ValidateNodeSelector. */
export function validateNodeSelector(selector: NodeSelector, path: string, errors: FieldErrors): void {
  const field = `${path}.nodeSelectorTerms`
  if (!selector.nodeSelectorTerms?.length) errors.push(required(field, 'must have at least one node selector term'))
  for (const [index, term] of (selector.nodeSelectorTerms ?? []).entries())
    validateNodeTerm(term, true, `${field}[${index}]`, errors)
}

export function validateNodeTerm(term: NodeTerm, checkValues: boolean, path: string, errors: FieldErrors): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    validateNodeRequirement(requirement, checkValues, `${path}.matchExpressions[${index}]`, errors)
  }
  for (const [index, requirement] of (term.matchFields ?? []).entries()) {
    validateNodeField(requirement, `${path}.matchFields[${index}]`, errors)
  }
}

function validateNodeRequirement(
  { key, operator, values = [] }: Requirement,
  checkValues: boolean,
  path: string,
  errors: FieldErrors,
): void {
  if (operator !== 'Gt' && operator !== 'Lt') validateOperator(operator, values, path, errors)
  else if (values.length !== 1)
    errors.push(required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
  reject(errors, `${path}.key`, key, qualifiedName(key))
  if (!checkValues) return
  for (const [index, value] of values.entries())
    reject(errors, `${path}.values[${index}]`, value, labelValueMessages(value))
}

function validateNodeField({ key, operator, values = [] }: Requirement, path: string, errors: FieldErrors): void {
  if (operator !== 'In' && operator !== 'NotIn') errors.push(invalid(`${path}.operator`, operator, NOT_AN_OPERATOR))
  else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
    errors.push(required(`${path}.values`, detail))
  }
  if (key !== 'metadata.name') {
    errors.push(invalid(`${path}.key`, key, 'not a valid field selector key'))
    return
  }
  for (const [index, value] of values.entries())
    reject(errors, `${path}.values[${index}]`, value, dns1123Subdomain(value))
}
