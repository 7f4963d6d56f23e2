import { isMap, type JsonMap } from '../values/json-map.ts'

/** Maps paths below /openapi/v3 to where their documents are. */
export type OpenApiPaths = Record<string, { serverRelativeURL: string }>

/** Holds the parts of a Swagger document that are about one group version. */
export interface SwaggerPart {
  paths: Record<string, unknown>
  definitions: Record<string, unknown>
  parameters: Record<string, unknown>
}

const objectAt = (document: unknown, name: string): JsonMap => {
  const value = isMap(document) ? document[name] : undefined
  return isMap(value) ? value : {}
}

/** Returns what an index of another server lists. Throws an Error if the body is not JSON. */
export function readOpenApiV3Index(body: string): OpenApiPaths {
  const paths = Object.entries(objectAt(JSON.parse(body), 'paths'))
  return Object.fromEntries(
    paths.flatMap(([path, entry]) => {
      const url = isMap(entry) ? entry.serverRelativeURL : undefined
      return typeof url === 'string' && url.startsWith('/openapi/v3/') ? [[path, { serverRelativeURL: url }]] : []
    }),
  )
}

/**
 * Returns the paths with the prefix and all that they refer to. Throws an Error if the body is not JSON. Upstream:
 * kube-openapi's FilterSpecByPathsWithoutSideEffects.
 */
export function readOpenApiV2(body: string, prefix: string): SwaggerPart {
  const document = JSON.parse(body) as unknown
  const all = { definitions: objectAt(document, 'definitions'), parameters: objectAt(document, 'parameters') }
  const paths = Object.fromEntries(
    Object.entries(objectAt(document, 'paths')).filter(([path]) => path.startsWith(prefix)),
  )
  const part: SwaggerPart = { paths, definitions: {}, parameters: {} }
  const left: unknown[] = [paths]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    for (const [kind, name] of referencesIn(value)) {
      const found = all[kind][name]
      if (found === undefined || Object.hasOwn(part[kind], name)) continue
      part[kind][name] = found
      left.push(found)
    }
  }
  return part
}

type Kind = 'definitions' | 'parameters'

function* referencesIn(value: unknown): Iterable<[Kind, string]> {
  for (const [, kind, name] of JSON.stringify(value).matchAll(/"\$ref":"#\/(definitions|parameters)\/([^"]+)"/g))
    yield [kind as Kind, name ?? '']
}

/**
 * Adds the part to a document. Definitions and parameters that the document has with another content get another name.
 * Upstream: kube-openapi's MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters.
 */
export function mergeSwagger(into: SwaggerPart, part: SwaggerPart): void {
  const renamed = new Map<string, string>()
  for (const kind of ['definitions', 'parameters'] as const) {
    for (const [name, content] of Object.entries(part[kind])) {
      const own = into[kind][name]
      if (own === undefined || JSON.stringify(own) === JSON.stringify(content)) continue
      renamed.set(`${kind}/${name}`, freeName(into[kind], name))
    }
  }
  const text = JSON.stringify(part).replace(
    /"\$ref":"#\/((?:definitions|parameters)\/)([^"]+)"/g,
    (whole, kind: string, name: string) => {
      const other = renamed.get(kind + name)
      return other === undefined ? whole : `"$ref":"#/${kind}${other}"`
    },
  )
  const copy = JSON.parse(text) as SwaggerPart
  for (const kind of ['definitions', 'parameters'] as const)
    for (const [name, content] of Object.entries(copy[kind]))
      into[kind][renamed.get(`${kind}/${name}`) ?? name] = content
  for (const [path, content] of Object.entries(copy.paths)) into.paths[path] ??= content
}

function freeName(taken: JsonMap, name: string): string {
  for (let number = 2; ; number++) if (!Object.hasOwn(taken, `${name}_v${number}`)) return `${name}_v${number}`
}
