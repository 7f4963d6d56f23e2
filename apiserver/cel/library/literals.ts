/** Literals that can be no value of what they are passed to are refused before anything runs. */
import { patternError, patternWeight } from '../../schema/re2.ts'
import type { Call, Expr } from '../ast.ts'
import { CelError } from '../errors.ts'
import { compileProgram } from '../program.ts'
import type { Problem } from '../source-error.ts'
import { type CelType, isSame, printType, unwrapped } from '../types.ts'
import { formatProblem } from './format.ts'

/** No budget pays for what a definition compiles: that is in proportion to its text. */
const LIGHT = 2_000
const LIGHT_PER_CHARACTER = 12
/** Says what is wrong with a pattern. An expensive one is compiled, and paid, when the expression runs. */
const literalPatternError = (pattern: string): string | undefined =>
  patternWeight(pattern) <= LIGHT + LIGHT_PER_CHARACTER * pattern.length ? patternError(pattern) : undefined

const CHECKS: Record<string, (call: Call, argument: unknown) => boolean> = {
  duration: (call) => conversionProblem(call) === undefined,
  timestamp: (call) => conversionProblem(call) === undefined,
  matches: (_call, pattern) => typeof pattern !== 'string' || literalPatternError(pattern) === undefined,
}

/** `mixed`: within what string.format takes, where items of one list may have several types. */
export function literalProblems(expr: Expr, found: Problem[] = [], mixed = false): Problem[] {
  if (expr.kind === 'call' && Object.hasOwn(CHECKS, expr.name)) {
    const argument = expr.args.at(-1)
    if (argument?.kind === 'literal' && !CHECKS[expr.name]!(expr, argument.value))
      found.push({ text: `invalid ${expr.name} argument`, at: argument.at })
  }
  if (expr.kind === 'list' && !mixed)
    found.push(...mixedTypes(expr.elements.map(({ value, optional }) => ({ expr: value, optional }))).slice(0, 1))
  if (expr.kind === 'map' && !mixed) {
    found.push(...mixedTypes(expr.entries.map(({ key }) => ({ expr: key, optional: false }))))
    found.push(...mixedTypes(expr.entries.map(({ value, optional }) => ({ expr: value, optional }))))
  }
  const isFormat = expr.kind === 'call' && expr.name === 'format'
  if (isFormat) found.push(...formatProblems(expr))
  for (const part of partsOf(expr)) literalProblems(part, found, mixed || isFormat)
  return found
}

/** Finds items of another type than the first one. */
function mixedTypes(items: { expr: Expr; optional: boolean }[]): Problem[] {
  const typeOf = ({ expr, optional }: (typeof items)[number]): CelType =>
    optional ? unwrapped(expr.type!) : expr.type!
  const [first] = items
  if (first === undefined) return []
  const wanted = typeOf(first)
  return items.flatMap((item) => {
    const type = typeOf(item)
    if (isSame(type, wanted)) return []
    return [{ text: `expected type '${printType(wanted)}' but found '${printType(type)}'`, at: item.expr.at }]
  })
}

/** A literal text with a literal list: what each verb is given is known, as far as types tell. */
function formatProblems(call: Call): Problem[] {
  const {
    target,
    args: [list],
  } = call
  if (target?.kind !== 'literal' || typeof target.value !== 'string' || list?.kind !== 'list') return []
  const problem = formatProblem(
    target.value,
    list.elements.map(({ value }) => value.type!),
  )
  if (problem === undefined) return []
  const at = problem.argument === undefined ? call.at : list.elements[problem.argument]!.value.at
  return [{ text: problem.text, at }]
}

const CONVERSIONS = new Set(['bool', 'bytes', 'double', 'duration', 'int', 'string', 'timestamp', 'uint'])
/**
 * Returns the message of the first conversion of a literal, or the first pattern, that can never succeed; undefined if
 * there is none.
 */
export function impossibleConversion(expr: Expr): string | undefined {
  const problem = expr.kind === 'call' ? constantProblem(expr) : undefinedType(expr)
  return (
    problem ?? partsOf(expr).reduce<string | undefined>((found, part) => found ?? impossibleConversion(part), undefined)
  )
}
/** A type of objects that expressions make is no value. */
const undefinedType = (expr: Expr): string | undefined =>
  expr.kind === 'ident' && expr.type?.kind === 'type' && expr.type.params[0]?.kind === 'struct'
    ? `reference to undefined type: ${expr.name}`
    : undefined
function constantProblem(call: Call): string | undefined {
  const argument = call.args.at(-1)
  if (argument?.kind !== 'literal') return undefined
  if ((call.name === 'find' || call.name === 'findAll') && typeof argument.value === 'string')
    return literalPatternError(argument.value)
  return CONVERSIONS.has(call.name) && call.target === undefined ? conversionProblem(call) : undefined
}
/** Returns the error of a literal's conversion; undefined if it succeeds. */
function conversionProblem(call: Call): string | undefined {
  try {
    compileProgram(call)({})
    return undefined
  } catch (error) {
    if (error instanceof CelError) return error.message
    throw error
  }
}

function partsOf(expr: Expr): Expr[] {
  switch (expr.kind) {
    case 'select':
      return [expr.operand]
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    case 'list':
      return expr.elements.map(({ value }) => value)
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'struct':
      return expr.fields.map(({ value }) => value)
    case 'comprehension':
      return [expr.range, expr.init, expr.step, expr.result]
    case 'bind':
      return [expr.optional, expr.body]
    case 'let':
      return [expr.value, expr.body]
    default:
      return []
  }
}
