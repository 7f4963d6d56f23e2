/** Says what the expressions of one policy may use, and the types of its variables. */

import { compileFor, composedType, type ExpressionProblem, type Scope, scopeOf } from './request-expression.ts'
import { type CelType, DYN } from './types.ts'

export interface PolicyScopes {
  /** Serves match conditions, which see no variables. */
  condition: Scope
  /** Serves validations, and values of annotations. */
  validation: Scope
  message: Scope
  mutation: Scope
  /** Holds one scope for each variable, which may use the variables before it. */
  variables: Scope[]
  /** Says what is wrong with a variable's expression, by the index of the variable. */
  problems: (ExpressionProblem | undefined)[]
}
interface PolicyParts {
  paramKind?: object
  variables?: readonly { name?: string; expression?: string }[]
}

/**
 * Compiles a policy's variables, and returns what its expressions may use. `always`: they see `variables` even if there
 * are none. `objects` is as in {@link scopeOf}.
 */
export function policyScopes(
  { paramKind, variables = [] }: PolicyParts,
  { always = false, objects }: { always?: boolean; objects?: { object?: CelType; params?: CelType } } = {},
): PolicyScopes {
  const params = paramKind !== undefined
  const composed = new Map<string, CelType>()
  const scopes: Scope[] = []
  const problems = variables.map(({ name = '', expression = '' }) => {
    const scope = scopeOf({ params, composed: new Map(composed), objects })
    scopes.push(scope)
    const compiled = compileFor(expression, 'any', scope)
    composed.set(name, 'text' in compiled ? DYN : composedType(compiled.type))
    return 'text' in compiled ? compiled : undefined
  })
  const seen = variables.length > 0 || always ? composed : undefined
  return {
    condition: scopeOf({ params, objects }),
    validation: scopeOf({ params, composed: seen, objects }),
    message: scopeOf({ params, authorizer: false, composed: seen, objects }),
    mutation: scopeOf({ params, patches: true, composed: composed, objects }),
    variables: scopes,
    problems,
  }
}

const known = new WeakMap<object, PolicyScopes>()
/** Returns the scopes of a stored validating policy, which are found once. */
export const scopesOf = (spec: PolicyParts): PolicyScopes => knownScopes(spec, false)
/** Returns those of a stored mutating policy, whose expressions see `variables` even if there are none. */
export const mutatingScopesOf = (spec: PolicyParts): PolicyScopes => knownScopes(spec, true)

function knownScopes(spec: PolicyParts, always: boolean): PolicyScopes {
  const found = known.get(spec)
  if (found !== undefined) return found
  const scopes = policyScopes(spec, { always })
  known.set(spec, scopes)
  return scopes
}
