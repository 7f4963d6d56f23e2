import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { forbidden } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { Access } from '../../auth/access.ts'
import { convertDyn } from '../../cel/dyn-values.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../../registry/admission-plugin.ts'
import { authorizerVariables } from '../cel/authorizer.ts'
import { Invocations } from '../reinvocation.ts'
import type { Candidate, Candidates, Matching } from '../webhooks/candidates.ts'
import { isExempt } from '../webhooks/rules.ts'
import { namespaceObject, namespaceOf } from '../webhooks/selectors.ts'
import { evaluable } from './exclusions.ts'
import { type MatchContext, matchResources } from './match-resources.ts'
import { isMatched, mutate } from './mutate.ts'
import { collectParams, type ParamContext, paramDefinition } from './params.ts'
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from './policy.ts'
import { type ShownContext, ShownObject } from './shown-object.ts'

/** A policy is in force once a binding names it. */
export interface BoundMutatingPolicy extends Matching {
  policy: MutatingAdmissionPolicy
  bindings: readonly MutatingAdmissionPolicyBinding[]
}
export interface MutatingPolicyContext extends MatchContext, ParamContext, ShownContext {
  access: Access
  candidates: Candidates<BoundMutatingPolicy>
}

/** Runs one policy with one binding and one set of params. */
interface Invocation {
  policy: MutatingAdmissionPolicy
  binding: MutatingAdmissionPolicyBinding
  matched: ResourceDefinition
  params: KubeObject | null
}
interface Refusal {
  policy: MutatingAdmissionPolicy
  binding?: MutatingAdmissionPolicyBinding
  message: string
  reason?: string
  /** Name of the server's limit that was reached. */
  limit?: string
}

/** Changes objects as policies in CEL say. Upstream: plugin/policy/mutating/dispatcher.go. */
export function mutatingPolicies(context: MutatingPolicyContext): AdmissionPlugin {
  return {
    asksAll: true,
    admit(attributes) {
      const candidates = context.candidates.of(attributes)
      if (candidates.length === 0 || attributes.operation === 'DELETE') return
      if (isExempt(attributes) || !evaluable(attributes)) return
      return askAll(context, attributes, candidates)
    },
  }
}

async function askAll(
  context: MutatingPolicyContext,
  attributes: AdmissionAttributes,
  candidates: readonly Candidate<BoundMutatingPolicy>[],
): Promise<void> {
  const refusals: Refusal[] = []
  const invocations = candidates.flatMap(({ hook }) => invocationsOf(context, attributes, hook, refusals))
  if (invocations.length > 0) refusals.push(...(await invoke(context, attributes, invocations)))
  const counted = refusals.filter(({ policy }) => policy.spec.failurePolicy !== 'Ignore')
  if (counted.length > 0) throw denial(attributes, counted)
}

/** All matching happens before anything is changed. What is configured wrongly becomes a refusal. */
function invocationsOf(
  context: MutatingPolicyContext,
  attributes: AdmissionAttributes,
  { policy, bindings }: BoundMutatingPolicy,
  refusals: Refusal[],
): Invocation[] {
  const { matchConstraints, paramKind } = policy.spec
  const refuse = (what: string, error: unknown, binding?: MutatingAdmissionPolicyBinding): never[] => {
    refusals.push({ policy, binding, message: `failed to configure ${what}: ${(error as Error).message}` })
    return []
  }
  let matched: ResourceDefinition | undefined
  try {
    matched = matchResources(matchConstraints, attributes, context)
    if (matched && paramKind) paramDefinition(context, paramKind)
  } catch (error) {
    return refuse('policy', error)
  }
  if (!matched) return []
  const definition = matched
  return bindings.flatMap((binding) => {
    const { matchResources: match, paramRef } = binding.spec
    try {
      if (match && !matchResources(match, attributes, context)) return []
      const all = collectParams(context, { paramKind, paramRef, namespace: namespaceOf(attributes) })
      return all.map((params) => ({ policy, binding, matched: definition, params }))
    } catch (error) {
      return refuse('binding', error, binding)
    }
  })
}

async function invoke(
  context: MutatingPolicyContext,
  attributes: AdmissionAttributes,
  invocations: readonly Invocation[],
): Promise<Refusal[]> {
  const asked = Invocations.of(attributes, 'MutatingAdmissionPolicy')
  asked.begin(attributes)
  const refusals: Refusal[] = []
  const common = {
    namespaceObject: convertDyn(namespaceObject(attributes, context.lookup) ?? null),
    ...authorizerVariables(context.access, attributes, namespaceOf(attributes)),
  }
  const shown = new Map<ResourceDefinition, ShownObject>()
  let last: ShownObject | undefined
  for (const { policy, binding, matched, params } of invocations) {
    const id = JSON.stringify([
      policy.metadata.name,
      binding.metadata.name,
      params?.metadata.namespace,
      params?.metadata.name,
    ])
    const isAsked = asked.isAsked(id, attributes)
    if (!isAsked && !policy.spec.matchConditions?.length) continue
    const object = shown.get(matched) ?? (await ShownObject.of(attributes, matched, context))
    shown.set(matched, object)
    const known = { ...common, params: convertDyn(params) }
    const refuse = (message: string, limit?: string): void => {
      refusals.push({ policy, binding, message, reason: 'Invalid', limit })
    }
    if (!isMatched(policy, object, known, context.limits.celSteps, refuse) || !isAsked) continue
    const before = object.json
    mutate(policy, object, known, context.limits, refuse)
    last = object
    if (object.differsFrom(before)) asked.changed(attributes)
    if (policy.spec.reinvocationPolicy === 'IfNeeded') asked.mayBeAskedAgain(id)
  }
  await last?.save()
  asked.end(attributes)
  return refusals
}

/** The first refusal is the message; each is a cause. */
function denial({ definition, name, object }: AdmissionAttributes, refusals: readonly Refusal[]): StatusError {
  const texts = refusals.map(({ policy, binding, message }) =>
    binding
      ? `policy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${message}`
      : `policy ${JSON.stringify(policy.metadata.name)} denied request: ${message}`,
  )
  const [first] = refusals
  const shown = name || object?.metadata?.generateName || 'Unknown'
  const error = forbidden(definition, shown, '', { causes: texts.map((message) => ({ message })) })
  error.status.message = texts[0]
  if (first?.reason) error.status.reason = first.reason
  return error.atLimit(refusals.find(({ limit }) => limit)?.limit)
}
