import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { forbidden } from '../../../shared/api/status/status-errors.ts'
import type { Access } from '../../auth/access.ts'
import { convertDyn } from '../../cel/dyn-values.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../registry/admission-plugin.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { authorizerVariables } from '../cel/authorizer.ts'
import { requestVariables } from '../cel/match-conditions.ts'
import { seenObjects } from '../seen-object.ts'
import type { Candidate, Candidates, Matching } from '../webhooks/candidates.ts'
import { isExempt } from '../webhooks/rules.ts'
import { namespaceObject, namespaceOf } from '../webhooks/selectors.ts'
import { auditValues, auditViolation } from './audit-annotations.ts'
import { type Findings, findings, type Violation } from './evaluate.ts'
import { evaluable } from './exclusions.ts'
import { type MatchContext, matchResources } from './match-resources.ts'
import { collectParams, type ParamContext, paramDefinition } from './params.ts'
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from './policy.ts'

/** A policy is in force once a binding names it. */
export interface BoundPolicy extends Matching {
  policy: ValidatingAdmissionPolicy
  bindings: readonly ValidatingAdmissionPolicyBinding[]
}

export interface PolicyContext extends MatchContext, ParamContext {
  limits: WorkLimits
  access: Access
  candidates: Candidates<BoundPolicy>
}

interface Finding extends Violation {
  policy: ValidatingAdmissionPolicy
  binding?: ValidatingAdmissionPolicyBinding
}

/** Asks policies in CEL. Upstream: plugin/policy/validating/dispatcher.go. */
export function validatingPolicies(context: PolicyContext): AdmissionPlugin {
  return {
    asksAll: true,
    validate(attributes) {
      const candidates = context.candidates.of(attributes)
      if (candidates.length === 0 || isExempt(attributes) || !evaluable(attributes)) return
      return askAll(context, attributes, candidates)
    },
  }
}

async function askAll(
  context: PolicyContext,
  attributes: AdmissionAttributes,
  candidates: readonly Candidate<BoundPolicy>[],
): Promise<void> {
  const refusals: Finding[] = []
  for (const { hook } of candidates) refusals.push(...(await ask(context, attributes, hook)))
  const [first] = refusals
  if (first) throw denial(attributes, first)
}

/** Resolves to what ends the request. Warnings have been sent by then. */
async function ask(
  context: PolicyContext,
  attributes: AdmissionAttributes,
  { policy, bindings }: BoundPolicy,
): Promise<Finding[]> {
  const { failurePolicy, matchConstraints, paramKind } = policy.spec
  const misconfigured = (what: string, error: unknown, binding?: ValidatingAdmissionPolicyBinding): Finding[] =>
    failurePolicy === 'Ignore'
      ? []
      : [{ policy, binding, message: `failed to configure ${what}: ${(error as Error).message}` }]
  let matched: ReturnType<typeof matchResources>
  try {
    matched = matchResources(matchConstraints, attributes, context)
    if (matched && paramKind) paramDefinition(context, paramKind)
  } catch (error) {
    return misconfigured('policy', error)
  }
  if (!matched) return []
  const known = {
    ...requestVariables(attributes, matched, await seenObjects(attributes, matched)),
    namespaceObject: convertDyn(namespaceObject(attributes, context.lookup) ?? null),
    ...authorizerVariables(context.access, attributes, namespaceOf(attributes)),
  }
  const values: Findings['annotations'][number][] = []
  const { annotate } = attributes
  const refusals = bindings.flatMap((binding) => {
    const { matchResources: match, paramRef, validationActions } = binding.spec
    try {
      if (match && !matchResources(match, attributes, context)) return []
      const all = collectParams(context, { paramKind, paramRef, namespace: namespaceOf(attributes) })
      const { celSteps } = context.limits
      const each = all.map((params) => findings(policy, { ...known, params: convertDyn(params) }, celSteps))
      const found = each.flatMap(({ violations }) => violations)
      if (annotate && validationActions.includes('Audit'))
        for (const violation of found) auditViolation(violation, binding, annotate)
      for (const { annotations } of each) values.push(...annotations)
      if (validationActions.includes('Warn')) {
        for (const { message } of found)
          attributes.warn(
            `Validation failed for ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}': ${message}`,
          )
      }
      const denies = validationActions.includes('Deny')
      return each.flatMap(({ violations, errors }) =>
        [...(denies ? violations : []), ...errors].map((why) => ({ ...why, policy, binding })),
      )
    } catch (error) {
      return misconfigured('binding', error, binding)
    }
  })
  if (annotate && values.length > 0) auditValues(policy.metadata.name ?? '', values, annotate)
  return refusals
}

const codes: Record<string, number> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 }
const invalidCode = 422

function denial(
  { definition, name, object }: AdmissionAttributes,
  { policy, binding, message, reason, limit }: Finding,
): StatusError {
  const by = binding ? ` with binding '${binding.metadata.name}'` : ''
  const why = `ValidatingAdmissionPolicy '${policy.metadata.name}'${by} denied request: ${message}`
  const shown = name || object?.metadata?.generateName || 'Unknown'
  const error = forbidden(definition, shown, why, { causes: [{ message: why }] })
  error.status.reason = reason ?? 'Invalid'
  error.status.code = codes[error.status.reason] ?? invalidCode
  return error.atLimit(limit)
}
