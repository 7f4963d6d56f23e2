/**
 * OpenAPI documents as facts: a line for each operation, parameters and schemas by name and hash. Two servers' facts are equal
 * exactly if their documents are, except for the order of keys.
 */
import { createHash } from 'node:crypto'

type Json = Record<string, unknown>
export interface Parameter extends Json {
  name: string
  in: string
  description?: string
  schema?: Json
  $ref?: string
}
export interface Operation extends Json {
  tags: string[]
  operationId: string
  description: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Json }>; required?: boolean }
  responses: Record<string, { description: string; schema?: Json; content?: Record<string, { schema: Json }> }>
  consumes?: string[]
  produces?: string[]
  schemes?: string[]
}
export interface OpenApiDocument extends Json {
  paths: Record<string, Record<string, Operation | Parameter[]>>
  components?: { schemas?: Record<string, Json>; securitySchemes?: Json }
  definitions?: Record<string, Json>
  parameters?: Record<string, Parameter>
}
/** All that a server publishes: `/openapi/v2`, and each document of `/openapi/v3` by its path. */
export interface Published {
  v2: OpenApiDocument
  v3: Record<string, OpenApiDocument>
}

export interface DocumentFacts {
  /** What stands beside paths and schemas. */
  head: unknown
  /** Path → method → line; `parameters` are those of all its methods. */
  paths: Record<string, Record<string, string> | typeof AS_IN_V3>
  /** Name → hash and fields, required ones with a star. */
  schemas: Record<string, string>
}
export interface Facts {
  v2: DocumentFacts
  v3: Record<string, DocumentFacts>
  /** Of v3, as most documents have them; a document names only those that differ, since `unresolved` holds the names. */
  schemas: Record<string, string>
}

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .sort(byName)
            .map(([key, one]) => [key, sorted(one)]),
        )
      : value
const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0)
const hashOf = (value: unknown, length: number): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('base64url')
    .slice(0, length)

const short = (name: string): string => name.replace('io.k8s.apimachinery.pkg.apis.', '').replace('io.k8s.api.', '')
/** A reference as the name it leads to, anything else as it is. */
const typeName = (schema: Json): string => {
  const ref = typeof schema.$ref === 'string' ? schema.$ref : undefined
  return ref && Object.keys(schema).length === 1 ? short(ref.slice(ref.lastIndexOf('/') + 1)) : JSON.stringify(schema)
}
const media = (types: string[]): string =>
  types
    .map((type) => type.replace('application/', '').replace('vnd.kubernetes.', ''))
    .sort()
    .join(' ')

/** `limit#a1b2c3`: what differs in place, type or description has another hash. */
function parameterName({ schema, ...rest }: Parameter): string {
  return `${rest.name}#${hashOf({ ...rest, ...schema }, 4)}`
}
const parameterNames = (parameters: Parameter[] = []): string => parameters.map(parameterName).join(' ')

function answers({ responses, produces }: Operation): string {
  const lines = Object.entries(responses).map(([code, { description, schema, content, ...rest }]) => {
    const bodies = content
      ? Object.values(content).map((body) => typeName(body.schema))
      : schema
        ? [typeName(schema)]
        : []
    const types = content ? Object.keys(content) : schema ? (produces ?? []) : []
    const more = Object.keys(rest).length > 0 ? JSON.stringify(rest) : ''
    return { code, description, what: [...new Set(bodies)].join(), types: media(types), more }
  })
  const types = [...new Set(lines.filter(({ what }) => what).map((line) => line.types))]
  const codes = lines.map(({ code, description, what, more }, index) => {
    const type = what + more
    const next = lines[index + 1]
    return `${code} ${description}${type && type !== `${next?.what}${next?.more}` ? ` ${type}` : ''}`
  })
  return `${codes.join(', ')} as ${types.join(' or ')}`
}

/** Of the older format: the body is a parameter. */
function bodyOf(parameters: Parameter[], consumes: string[] = []) {
  const found = parameters.find((parameter) => parameter.in === 'body')
  return found && { schema: found.schema, required: found.required === true, types: consumes }
}

function operationLine(operation: Operation, resolve: (parameter: Parameter) => Parameter): string {
  const { tags, operationId, description, requestBody, responses: _, consumes, produces: __, ...rest } = operation
  const { parameters = [], schemes, ...extensions } = rest
  const resolved = parameters.map(resolve)
  const body = requestBody
    ? { ...requestBody, types: Object.keys(requestBody.content), schema: Object.values(requestBody.content)[0]?.schema }
    : bodyOf(resolved, consumes)
  const query = resolved.filter((parameter) => parameter.in !== 'body')
  return [
    `${operationId} (${tags.join()}) ${description}`,
    extensionsLine(extensions),
    parameterNames(query),
    body ? `${body.required ? 'must' : 'may'} send ${typeName(body.schema ?? {})} as ${media(body.types)}` : '',
    answers(operation) + (consumes && schemes?.join() !== 'https' ? ` by ${schemes}` : ''),
  ].join(' | ')
}

function extensionsLine({
  'x-kubernetes-action': action,
  'x-kubernetes-group-version-kind': type,
  ...rest
}: Json): string {
  const { group, version, kind, ...more } = (type ?? {}) as Record<string, string>
  const others = { ...rest, ...more }
  const known = action || type ? `${action} ${group}/${version}/${kind}` : ''
  return known + (Object.keys(others).length > 0 ? JSON.stringify(sorted(others)) : '')
}

function schemaFact(schema: Json): string {
  const required = new Set((schema.required as string[]) ?? [])
  const fields = Object.keys((schema.properties as Json) ?? {}).sort()
  return [hashOf(schema, 8), ...fields.map((field) => (required.has(field) ? `${field}*` : field))].join(' ')
}

export function documentFacts(document: OpenApiDocument): DocumentFacts {
  const { paths, components, definitions, parameters: shared = {}, ...head } = document
  const { schemas = definitions ?? {}, ...otherComponents } = components ?? {}
  const resolve = (parameter: Parameter): Parameter =>
    parameter.$ref ? (shared[parameter.$ref.slice('#/parameters/'.length)] ?? parameter) : parameter
  const lines = Object.entries(paths).map(([path, { parameters, ...methods }]): [string, Record<string, string>] => [
    path,
    {
      ...(parameters && { parameters: parameterNames((parameters as Parameter[]).map(resolve)) }),
      ...Object.fromEntries(
        Object.entries(methods).map(([method, one]) => [method, operationLine(one as Operation, resolve)]),
      ),
    },
  ])
  return {
    head: { ...head, ...otherComponents, shared: Object.keys(shared).sort() },
    paths: Object.fromEntries(lines),
    schemas: Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, schemaFact(schema)])),
  }
}

export function publishedFacts(published: Published): Facts {
  const v3 = Object.entries(published.v3).map(([path, document]) => [path, documentFacts(document)] as const)
  const schemas = Object.assign({}, ...v3.map(([, facts]) => facts.schemas).reverse()) as Record<string, string>
  const v2 = documentFacts(published.v2)
  const lines = Object.assign({}, ...v3.map(([, facts]) => facts.paths)) as DocumentFacts['paths']
  for (const [path, methods] of Object.entries(v2.paths)) {
    if (JSON.stringify(sorted(methods)) === JSON.stringify(sorted(lines[path]))) v2.paths[path] = AS_IN_V3
  }
  for (const [, facts] of v3) {
    for (const [name, fact] of Object.entries(facts.schemas)) if (schemas[name] === fact) delete facts.schemas[name]
  }
  return { v2, v3: Object.fromEntries(v3), schemas }
}
const AS_IN_V3 = 'as in v3'

/** Names that a document refers to without defining them, and names that nothing in it refers to. */
export function unresolved(document: OpenApiDocument): { missing: string[]; unused: string[] } {
  const schemas = document.components?.schemas ?? document.definitions ?? {}
  const refs = (value: unknown): string[] =>
    [...(JSON.stringify(value) ?? '').matchAll(/"\$ref":"#\/(?:components\/schemas|definitions)\/([^"]+)"/g)].map(
      ([, name]) => name ?? '',
    )
  const reached = new Set<string>()
  const todo = refs([document.paths, document.parameters])
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (reached.has(name)) continue
    reached.add(name)
    todo.push(...refs(schemas[name]))
  }
  return {
    missing: [...reached].filter((name) => !(name in schemas)),
    unused: Object.keys(schemas).filter((name) => !reached.has(name)),
  }
}
