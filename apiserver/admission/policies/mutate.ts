import { limitOf } from '../../cel/errors.ts'
import { Budget } from '../../cel/meter.ts'
import { mutatingScopesOf } from '../../cel/policy-scopes.ts'
import { compileExpression, OutOfBudget, type Variables } from '../../cel/request-expression.ts'
import type { MadeObject } from '../../cel/values.ts'
import type { WorkLimits } from '../../work-limits.ts'
import { allHold, celError } from '../cel/match-conditions.ts'
import { applyConfiguration } from './apply-configuration.ts'
import { applyPatchExpression } from './json-patch-expression.ts'
import { NotNative } from './native-value.ts'
import { PatchProblem } from './patch-problem.ts'
import type { MutatingAdmissionPolicy, Mutation } from './policy.ts'
import type { ShownObject } from './shown-object.ts'
import { lazyVariables } from './variables.ts'

type Refuse = (message: string, limit?: string) => void

/** Returns whether the policy's match conditions hold. If this cannot be decided, they do not, and it is refused. */
export function isMatched(
  { spec }: MutatingAdmissionPolicy,
  { variables }: ShownObject,
  known: Variables,
  celSteps: number,
  refuse: Refuse,
): boolean {
  const { matchConditions = [] } = spec
  if (matchConditions.length === 0) return true
  const all = { ...variables, ...known, namespaceObject: null }
  try {
    return allHold(matchConditions, all, celSteps, mutatingScopesOf(spec).condition)
  } catch (error) {
    refuse((error as Error).message, limitOf(error))
    return false
  }
}

/** Makes the policy's changes one after the other; each sees those before it. One that fails does not end the rest. */
export function mutate(
  { spec }: MutatingAdmissionPolicy,
  object: ShownObject,
  known: Variables,
  limits: WorkLimits,
  refuse: Refuse,
): void {
  const { mutations = [], variables = [] } = spec
  const scopes = mutatingScopesOf(spec)
  for (const mutation of mutations) {
    if (!object.json) return
    const budget = Budget.forObject(limits.celSteps)
    const all = { ...object.variables, ...known }
    const seen = { ...all, variables: lazyVariables(variables, scopes, all, budget) }
    try {
      change(
        object,
        mutation,
        (expression, wanted) => evaluated(expression, wanted, scopes.mutation, seen, budget),
        limits,
      )
    } catch (error) {
      if (!(error instanceof PatchProblem || error instanceof NotNative)) throw error
      refuse(error.message, limitOf(error.cause))
    }
  }
}

function evaluated(
  expression: string,
  wanted: 'Object' | 'patches',
  scope: Parameters<typeof compileExpression>[2],
  seen: Variables,
  budget: Budget,
): unknown {
  try {
    return compileExpression(expression, wanted, scope).evaluate(seen, budget)
  } catch (error) {
    const why =
      error instanceof OutOfBudget ? error.message : `expression '${expression}' resulted in error: ${celError(error)}`
    throw new PatchProblem(why, { cause: error })
  }
}

function change(
  object: ShownObject,
  { patchType, applyConfiguration: apply, jsonPatch }: Mutation,
  evaluate: (expression: string, wanted: 'Object' | 'patches') => unknown,
  { bodyValues }: WorkLimits,
): void {
  if (patchType === 'ApplyConfiguration' && apply) {
    const made = evaluate(apply.expression, 'Object') as MadeObject
    object.takeMerged(applyConfiguration(made, object.json!, object.type, bodyValues))
  } else if (patchType === 'JSONPatch' && jsonPatch) {
    const made = evaluate(jsonPatch.expression, 'patches') as readonly unknown[]
    const patched = applyPatchExpression(made, object.document(), bodyValues)
    if (patched !== undefined) object.takePatched(patched)
  }
}
