import type { LabelSelectorObject } from '../../../shared/api/selectors/label-selector.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Rule } from '../webhooks/webhook.ts'

/**
 * Describes a ValidatingAdmissionPolicy (admissionregistration.k8s.io/v1): the fields that are used here, with their
 * defaults filled in.
 */
export interface ValidatingAdmissionPolicy extends KubeObject {
  spec: {
    failurePolicy: 'Fail' | 'Ignore'
    matchConstraints: MatchResources
    paramKind?: { apiVersion: string; kind: string }
    matchConditions?: { name: string; expression: string }[]
    variables?: Variable[]
    validations?: Validation[]
    auditAnnotations?: AuditAnnotation[]
  }
}
/** Describes a MutatingAdmissionPolicy, likewise. */
export interface MutatingAdmissionPolicy extends KubeObject {
  spec: Omit<ValidatingAdmissionPolicy['spec'], 'validations' | 'auditAnnotations'> & {
    mutations?: Mutation[]
    reinvocationPolicy: 'Never' | 'IfNeeded'
  }
}
export interface Mutation {
  patchType: 'ApplyConfiguration' | 'JSONPatch'
  applyConfiguration?: { expression: string }
  jsonPatch?: { expression: string }
}
export interface MutatingAdmissionPolicyBinding extends KubeObject {
  spec: Omit<ValidatingAdmissionPolicyBinding['spec'], 'validationActions'>
}
export interface Variable {
  name: string
  expression: string
}
export interface Validation {
  expression: string
  message?: string
  messageExpression?: string
  reason?: string
}
export interface AuditAnnotation {
  key: string
  valueExpression: string
}

export interface ValidatingAdmissionPolicyBinding extends KubeObject {
  spec: {
    policyName: string
    paramRef?: ParamRef
    matchResources?: MatchResources
    validationActions: ('Deny' | 'Warn' | 'Audit')[]
  }
}
export interface ParamRef {
  name?: string
  namespace?: string
  selector?: LabelSelectorObject
  parameterNotFoundAction?: 'Allow' | 'Deny'
}

export interface MatchResources {
  matchPolicy?: string
  namespaceSelector?: LabelSelectorObject
  objectSelector?: LabelSelectorObject
  resourceRules?: NamedRule[]
  excludeResourceRules?: NamedRule[]
}
export interface NamedRule extends Rule {
  /** Names single objects; without it the rule holds for all. */
  resourceNames?: string[]
}
