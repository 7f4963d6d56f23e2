/** The OpenAPI 3 documents of the catalog, one for each group version and for each path of discovery. */
import { createHash } from 'node:crypto'
import { type DocumentedSchema, documentedSchemas } from '../../../openapi/documented-schemas.ts'
import { knownGroupVersions } from '../../../openapi/options.ts'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { toJson } from '../../../shared/api/json/exact-json.ts'
import { kubernetesVersion } from '../../../shared/config/kubernetes-version.ts'
import { publishedList, publishedSchema } from '../../apiextensions/published-schema.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { subresourcesOf } from '../../kind/subresources.ts'
import { fixedOperations, groupOperation, versionOperation } from './discovery.ts'
import {
  groupPrefix,
  listKindOf,
  listSchemaName,
  META,
  type Operation,
  operationsOf,
  schemaName,
  TEXT,
} from './operations.ts'
import { type OpenApiParameter, sharedParameters } from './parameters.ts'

type Definitions = readonly ResourceDefinition[]
export type Schemas = Record<string, DocumentedSchema>

/** Describes what a document shows. Its operations are made on request. */
export interface OpenApiPart {
  /** `api/v1`, `apis/apps`, `version`: how the index names it. */
  path: string
  /** Resources of the group version, if it is one. */
  members: Definitions
  operations(): Operation[]
}

/** Returns every document, in the order of the index. */
export function openapiParts(definitions: Definitions): OpenApiPart[] {
  const parts: OpenApiPart[] = Object.entries(fixedOperations).map(([path, operation]) => ({
    path,
    members: [],
    operations: () => [operation],
  }))
  const builtIn = definitions.filter(({ custom }) => !custom)
  for (const group of new Set(builtIn.map((definition) => definition.group))) {
    if (group === '') continue
    parts.push({ path: groupPrefix(group).slice(1), members: [], operations: () => [groupOperation(group)] })
  }
  for (const [path, members] of Map.groupBy(definitions, documentPath)) {
    const { group, version } = members[0]!
    const isCustom = members.every(({ custom }) => custom)
    const discovery = () => (isCustom ? [] : [versionOperation(group, version)])
    parts.push({ path, members, operations: () => [...discovery(), ...members.flatMap(operationsOf)] })
  }
  return parts.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** `api/v1`, `apis/apps/v1`. */
const documentPath = ({ group, version }: ResourceDefinition): string => `${groupPrefix(group)}/${version}`.slice(1)

const ref = (schema: string) => (schema === TEXT ? { type: TEXT } : { $ref: `#/components/schemas/${schema}` })
const content = (types: readonly string[], schema: string) =>
  Object.fromEntries([...types].sort().map((type) => [type, { schema: ref(schema) }]))

export const reasons: Record<string, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 401: 'Unauthorized' }

/** Returns the facts about an operation that both formats write in the same way. */
export const commonFacts = ({ tag, description, id }: Operation) => ({ tags: [tag], description, operationId: id })
export const extensionsOf = ({ action, type }: Operation) =>
  action &&
  type && {
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: type.group, version: type.version, kind: type.kind },
  }

const parameterDocument = ({ name, in: place, description, type }: OpenApiParameter) => ({
  name,
  in: place,
  description,
  ...(place === 'path' && { required: true }),
  schema: { type, uniqueItems: true },
})

function operationDocument(operation: Operation, parameters: OpenApiParameter[]): object {
  const { body, consumes, produces, answers } = operation
  const responses = Object.entries(answers).map(([code, schema]): [string, object] => [
    code,
    { description: reasons[code], content: content(produces, schema) },
  ])
  return {
    ...commonFacts(operation),
    ...(parameters.length > 0 && { parameters: parameters.map(parameterDocument) }),
    ...(body && {
      requestBody: { content: content(consumes, body.schema), ...(body.required && { required: true }) },
    }),
    responses: { ...Object.fromEntries(responses), 401: { description: reasons[401] } },
    ...extensionsOf(operation),
  }
}

type OperationFormat = (operation: Operation, parameters: OpenApiParameter[]) => object

/** Paths with their operations in a format, sorted. */
export function pathsOf(
  operations: readonly Operation[],
  operationIn: OperationFormat,
  parameterIn: (parameter: OpenApiParameter) => object,
): Record<string, object> {
  const paths = [...Map.groupBy(operations, ({ path }) => path)].map(([path, members]): [string, object] => {
    const { shared, own } = sharedParameters(members.map(({ parameters }) => parameters))
    const methods = members.map((operation, index) => [operation.method, operationIn(operation, own[index] ?? [])])
    return [path, { ...Object.fromEntries(methods), ...(shared.length > 0 && { parameters: shared.map(parameterIn) }) }]
  })
  return Object.fromEntries(paths.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The schemas that operations speak of, and all that those refer to. */
export function schemasOf(operations: readonly Operation[], definitions: Definitions): Schemas {
  const named = new Set(operations.flatMap(({ answers, body }) => [...Object.values(answers), body?.schema ?? TEXT]))
  const own = new Map<string, DocumentedSchema>()
  for (const definition of definitions) {
    if (!definition.custom) continue
    own.set(schemaName(definition), objectDocument(definition))
    own.set(listSchemaName(definition), listDocument(definition))
  }
  if (own.size > 0) for (const name of ['ObjectMeta', 'ListMeta']) named.add(`${META}.${name}`)
  return { ...documentedSchemas(named), ...Object.fromEntries(own) }
}
/** Returns the extensions by which clients find the kind of a custom resource's type, or of its lists. */
function ofKind(definition: ResourceDefinition, kind: string): object {
  const { group, version, selectableFields = {} } = definition
  const fields = Object.keys(selectableFields).map((fieldPath) => ({ fieldPath }))
  return {
    'x-kubernetes-group-version-kind': [{ group, version, kind }],
    ...(fields.length > 0 && { 'x-kubernetes-selectable-fields': fields }),
  }
}
const objectDocument = (definition: ResourceDefinition): DocumentedSchema => ({
  ...publishedSchema(definition.custom!.schema),
  ...ofKind(definition, definition.kind),
})
function listDocument(definition: ResourceDefinition): DocumentedSchema {
  const { kind, plural } = definition
  const listKind = listKindOf(definition)
  const published = publishedList({ kind, listKind, plural, item: schemaName(definition) })
  return { ...published, ...ofKind(definition, listKind) }
}

/** Types that belong to every group version carry the names of all that a document is about. */
const everywhere = [`${META}.DeleteOptions`, `${META}.WatchEvent`]
export function nameEverywhere(schemas: Schemas, groupVersions: readonly string[]): Schemas {
  for (const name of everywhere) {
    const schema = schemas[name]
    if (!schema) continue
    const kind = name.slice(META.length + 1)
    const kinds = groupVersions.map((groupVersion) => {
      const [version = '', group = ''] = groupVersion.split('/').reverse()
      return { group, version, kind }
    })
    schemas[name] = { ...schema, 'x-kubernetes-group-version-kind': kinds }
  }
  return schemas
}

/** Groups that are unknown to the part of a real server that serves custom resources. */
const builtInOnly = /^(admission|apiextensions|apiregistration|imagepolicy)\.k8s\.io\//

export const info = { title: 'Kubernetes', version: `${kubernetesVersion.major}.${kubernetesVersion.minor}` }
export const bearerToken = {
  BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' },
}

export function openapiV3({ members, operations }: OpenApiPart): object {
  const made = operations()
  const isCustom = members.length > 0 && members.every(({ custom }) => custom)
  const [first] = members
  const groupVersions = isCustom
    ? knownGroupVersions().filter((known) => !builtInOnly.test(known))
    : [...new Set(['v1', ...(first ? [apiVersionOf(first)] : [])])]
  const schemas = nameEverywhere(schemasOf(made, members), groupVersions)
  return {
    openapi: '3.0.0',
    info: isCustom ? { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' } : info,
    paths: pathsOf(made, operationDocument, parameterDocument),
    components: {
      ...(Object.keys(schemas).length > 0 && { schemas }),
      ...(!isCustom && { securitySchemes: bearerToken }),
    },
  }
}

/** Changes with what the document is made of. */
export function documentHash(definitions: Definitions): string {
  const facts = definitions.map((definition) => [
    definition.group,
    definition.version,
    definition.plural,
    definition.kind,
    definition.verbs,
    subresourcesOf(definition),
    definition.custom?.schema,
  ])
  return createHash('sha512').update(toJson(facts)).digest('hex').toUpperCase()
}

/** `GET /openapi/v3`: where the documents are. */
export const openapiV3Index = (parts: readonly OpenApiPart[]): { paths: object } => ({
  paths: Object.fromEntries(
    parts.map(({ path, members }) => [
      path,
      { serverRelativeURL: `/openapi/v3/${path}?hash=${documentHash(members)}` },
    ]),
  ),
})
