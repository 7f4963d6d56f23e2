import { createRequire } from 'node:module'
import type * as Cel from '@marcbachmann/cel-js'
import { goCompileError } from './go-error.ts'
import { registerLibrary } from './library.ts'

export interface CelLibrary {
  cel: typeof Cel
  /** With Kubernetes' functions, and no variables. */
  base: Cel.Environment
  functions: Set<string>
}

let library: CelLibrary | undefined

/** Only loaded when the first rule comes. */
export function celLibrary(): CelLibrary {
  if (library === undefined) {
    const cel = createRequire(import.meta.url)('@marcbachmann/cel-js') as typeof Cel
    const base = new cel.Environment({
      unlistedVariablesAreDyn: false,
      homogeneousAggregateLiterals: false,
      enableOptionalTypes: true,
    })
    registerLibrary(base, cel.Optional)
    library = { cel, base, functions: new Set(base.getDefinitions().functions.map(({ name }) => name)) }
  }
  return library
}

/** `'type'`: it is of another type than wanted; other text: it does not compile. */
export function problemWith(env: Cel.Environment, expression: string, wanted: string | undefined): string | undefined {
  const result = env.check(expression)
  if (result.valid) return wanted === undefined || result.type === wanted || result.type === 'dyn' ? undefined : 'type'
  const { functions } = celLibrary()
  return result.error && goCompileError(expression, result.error, (name) => functions.has(name))
}
