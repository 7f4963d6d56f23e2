/** Literals that can be no value of what they are passed to are refused before anything runs. */
import { patternError } from '../../apiextensions/schema/re2.ts'
import type { Call, Expr } from '../ast.ts'
import { CelError } from '../errors.ts'
import { compileProgram } from '../program.ts'
import type { Problem } from '../source-error.ts'
import { formatProblem } from './format.ts'
import { parseGoDuration, parseTimestamp } from './time.ts'

const CHECKS: Record<string, (text: string) => boolean> = {
  duration: (text) => parseGoDuration(text) !== undefined,
  timestamp: (text) => parseTimestamp(text) !== undefined,
  matches: (text) => patternError(text) === undefined,
}

export function literalProblems(expr: Expr, found: Problem[] = []): Problem[] {
  if (expr.kind === 'call' && Object.hasOwn(CHECKS, expr.name)) {
    const argument = expr.args.at(-1)
    if (argument?.kind === 'literal' && typeof argument.value === 'string' && !CHECKS[expr.name]!(argument.value))
      found.push({ text: `invalid ${expr.name} argument`, at: argument.at })
  }
  if (expr.kind === 'call' && expr.name === 'format') found.push(...formatProblems(expr))
  for (const part of partsOf(expr)) literalProblems(part, found)
  return found
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
/** What the first conversion of a literal that can never succeed says; undefined: there is none. */
export function impossibleConversion(expr: Expr): string | undefined {
  const problem = expr.kind === 'call' ? constantProblem(expr) : undefined
  return (
    problem ?? partsOf(expr).reduce<string | undefined>((found, part) => found ?? impossibleConversion(part), undefined)
  )
}
function constantProblem(call: Call): string | undefined {
  const argument = call.args.at(-1)
  if (argument?.kind !== 'literal') return undefined
  if ((call.name === 'find' || call.name === 'findAll') && typeof argument.value === 'string')
    return patternError(argument.value)
  if (!CONVERSIONS.has(call.name) || call.target !== undefined) return undefined
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
    case 'comprehension':
      return [expr.range, expr.init, expr.step, expr.result]
    case 'bind':
      return [expr.optional, expr.body]
    default:
      return []
  }
}
