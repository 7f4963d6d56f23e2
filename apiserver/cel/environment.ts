/** Parses, checks and compiles expressions with the functions of a Kubernetes API server. */
import type { Expr } from './ast.ts'
import { check, type StructTypes, type Variables } from './checker.ts'
import { functions } from './library/index.ts'
import { impossibleConversion, literalProblems } from './library/literals.ts'
import type { Functions } from './overloads.ts'
import { parse } from './parser.ts'
import { compileProgram, type Program } from './program.ts'
import { type Problem, printProblems } from './source-error.ts'
import type { CelType } from './types.ts'

export type { Variables } from './checker.ts'
export type { Program } from './program.ts'

export interface Compiled {
  program: Program
  type: CelType
  /** Names of the variables that it mentions. */
  used: ReadonlySet<string>
  expr: Expr
}

/** Says, in cel-go's words, why an expression is refused. */
export interface Refused {
  phase: 'compilation' | 'instantiation'
  text: string
}

/** Says what expressions may use beyond the functions of every server. */
export interface Additions {
  functions?: Functions
  structs?: StructTypes
}

export function compile(source: string, variables: Variables, additions: Additions = {}): Compiled | Refused {
  const refused = (problems: Problem[]): Refused => ({ phase: 'compilation', text: printProblems(source, problems) })
  const parsed = parse(source)
  if ('problems' in parsed) return refused(parsed.problems)
  const { type, problems, used } = check(parsed.expr, variables, additions.functions ?? functions, additions.structs)
  if (problems.length > 0) return refused(problems)
  const wrong = literalProblems(parsed.expr)
  if (wrong.length > 0) return refused(wrong)
  const impossible = impossibleConversion(parsed.expr)
  if (impossible !== undefined) return { phase: 'instantiation', text: impossible }
  return { program: compileProgram(parsed.expr), type, used, expr: parsed.expr }
}
