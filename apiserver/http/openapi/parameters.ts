/** Parameters of operations, in the order in which documents show them. */
import { type Option, optionsOf } from '../../../openapi/options.ts'

export interface OpenApiParameter extends Option {
  name: string
  in: 'path' | 'query'
}

const inQuery = (name: string, option: Option): OpenApiParameter => ({ name, in: 'query', ...option })

/** The fields of an options type, e.g. `ListOptions`. */
export const optionsAs = (type: string): OpenApiParameter[] =>
  Object.entries(optionsOf(type)).map(([name, option]) => inQuery(name, option))

/** What all requests take, except those that are handed on. */
export const everyRequest = (): OpenApiParameter[] =>
  Object.entries(optionsOf(''))
    .filter(([name]) => name === 'pretty')
    .map(([name, option]) => inQuery(name, option))

/** What a path has in braces; `kind` is that of what is named. */
export const pathParameters = (path: string, kind: string): OpenApiParameter[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const known = optionsOf('')[name] ?? { type: 'string', description: `name of the ${kind}` }
    return { name, in: 'path', ...known }
  })

const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
export const inOrder = (a: OpenApiParameter, b: OpenApiParameter): number => text(a.name, b.name) || text(a.in, b.in)

/** What all of a path's operations take stands with the path, the rest with each operation. */
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
