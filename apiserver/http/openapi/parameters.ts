/** Parameters of operations, in the order in which documents show them. */
import { type Option, optionsOf } from '../../../openapi/options.ts'

export interface OpenApiParameter extends Option {
  name: string
  in: 'path' | 'query'
}

const inQuery = (name: string, option: Option): OpenApiParameter => ({ name, in: 'query', ...option })

/** Returns the fields of an options type, e.g. `ListOptions`, as query parameters. */
export const optionsAs = (type: string): OpenApiParameter[] =>
  Object.entries(optionsOf(type)).map(([name, option]) => inQuery(name, option))

/** Returns the parameters that all requests take, except proxied requests. */
export const everyRequest = (): OpenApiParameter[] =>
  Object.entries(optionsOf(''))
    .filter(([name]) => name === 'pretty')
    .map(([name, option]) => inQuery(name, option))

/** Returns the parameters that stand in braces in the path; `kind` is the kind of the named object. */
export const pathParameters = (path: string, kind: string): OpenApiParameter[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const known = optionsOf('')[name] ?? { type: 'string', description: `name of the ${kind}` }
    return { name, in: 'path', ...known }
  })

const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
export const inOrder = (a: OpenApiParameter, b: OpenApiParameter): number => text(a.name, b.name) || text(a.in, b.in)

/**
 * Splits the parameters of a path's operations. `shared` holds those that all operations take, which stand with the
 * path; `own` holds the rest of each operation.
 */
export function sharedParameters(lists: readonly OpenApiParameter[][]): {
  shared: OpenApiParameter[]
  own: OpenApiParameter[][]
} {
  const key = (parameter: OpenApiParameter): string => JSON.stringify(parameter)
  const keys = lists.map((list) => new Set(list.map(key)))
  const isShared = (parameter: OpenApiParameter): boolean => keys.every((known) => known.has(key(parameter)))
  return {
    shared: (lists[0] ?? []).filter(isShared).sort(inOrder),
    own: lists.map((list) => list.filter((parameter) => !isShared(parameter)).sort(inOrder)),
  }
}
