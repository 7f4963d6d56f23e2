import type * as Cel from '@marcbachmann/cel-js'
import type { JSONSchemaProps, ValidationRule } from '../schema/json-schema.ts'
import { type CelType, TypeRegistrar } from './cel-type.ts'
import { celLibrary, problemWith } from './environment.ts'
import { withRe2 } from './library.ts'

export interface CompiledRule {
  rule: ValidationRule
  usesOldSelf: boolean
  /** Throws what the expression throws. */
  holds(self: unknown, old: unknown): boolean
  /** Of messageExpression; undefined when there is none, or it gives none. */
  message(self: unknown, old: unknown): string | undefined
}
export interface CompileFailure {
  field: 'rule' | 'messageExpression'
  text: string
}
export interface CompiledSchema {
  type: CelType
  rules: (CompiledRule | CompileFailure)[]
}

const cache = new WeakMap<JSONSchemaProps, CompiledSchema>()

/** The rules that stand directly in a schema, compiled once. */
export function compileRules(schema: JSONSchemaProps, root: boolean): CompiledSchema {
  let compiled = cache.get(schema)
  if (compiled === undefined) {
    compiled = compile(schema, root)
    cache.set(schema, compiled)
  }
  return compiled
}

function compile(schema: JSONSchemaProps, root: boolean): CompiledSchema {
  const { base } = celLibrary()
  const env = base.clone()
  const type = new TypeRegistrar(env, (ms) => env.evaluate(`duration("${ms}ms")`)).typeOf(schema, root)
  const plain = env.clone().registerVariable('self', type.name).registerVariable('oldSelf', type.name)
  const optional = env.clone().registerVariable('self', type.name).registerVariable('oldSelf', `optional<${type.name}>`)
  const rules = (schema['x-kubernetes-validations'] ?? []).map((rule) =>
    compileRule(rule, type, rule.optionalOldSelf === true ? optional : plain),
  )
  return { type, rules }
}

function compileRule(rule: ValidationRule, type: CelType, env: Cel.Environment): CompiledRule | CompileFailure {
  const expression = rule.rule.trim()
  const failure = problemWith(env, expression, 'bool')
  if (failure !== undefined)
    return {
      field: 'rule',
      text: failure === 'type' ? 'cel expression must evaluate to a bool' : `compilation failed: ${failure}`,
    }
  const messageExpression = rule.messageExpression?.trim()
  if (messageExpression) {
    const problem = problemWith(env, messageExpression, 'string')
    if (problem !== undefined)
      return {
        field: 'messageExpression',
        text:
          problem === 'type'
            ? 'messageExpression must evaluate to a string'
            : `messageExpression compilation failed: ${problem}`,
      }
  }
  const { cel } = celLibrary()
  const evaluate = env.parse(withRe2(expression))
  const evaluateMessage = messageExpression ? env.parse(withRe2(messageExpression)) : undefined
  const context = (self: unknown, old: unknown): Record<string, unknown> => {
    const before = old === undefined ? undefined : type.convert(old)
    const oldSelf =
      rule.optionalOldSelf === true ? (before === undefined ? cel.Optional.none() : cel.Optional.of(before)) : before
    return { self: type.convert(self), ...(oldSelf !== undefined && { oldSelf }) }
  }
  return {
    rule,
    usesOldSelf: /\boldSelf\b/.test(expression),
    holds: (self, old) => evaluate(context(self, old)) === true,
    message: (self, old) => messageOf(evaluateMessage, context(self, old)),
  }
}

const MAX_MESSAGE = 5120
/** A message that is empty, too long, of several lines, or fails is none. */
function messageOf(evaluate: Cel.ParseResult | undefined, context: Record<string, unknown>): string | undefined {
  try {
    const text: unknown = evaluate?.(context)
    return typeof text === 'string' && text.trim() !== '' && !/[\r\n]/.test(text) && text.length <= MAX_MESSAGE
      ? text.trim()
      : undefined
  } catch {
    return undefined
  }
}
