/** OpenAPI documents of the catalog: enough for kubectl to validate, plan patches and explain. */

import { createHash } from 'node:crypto'
import { type DocumentedSchema, documentedSchemas } from '../../openapi/documented-schemas.ts'
import { toJson } from '../../shared/api/exact-json.ts'
import { kubernetesVersion } from '../../shared/config/kubernetes-version.ts'
import { publishedSchema } from '../apiextensions/published-schema.ts'
import type { ResourceDefinition, Verb } from '../registry/resource-definition.ts'
import { subresourcesOf } from './discovery-documents.ts'
import { swaggerSchemas } from './openapi-v2-schema.ts'

type Definitions = readonly ResourceDefinition[]
type Action = 'list' | 'get' | 'post' | 'put' | 'patch' | 'delete' | 'deletecollection'
type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

interface Operation {
  action: Action
  path: string
  method: Method
  definition: ResourceDefinition
  /** Kind of what is sent and answered, when it is not the resource's own. */
  kind: { group: string; version: string; kind: string }
  subresource?: string
}

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const allVerbs: Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const media = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
const patchMedia = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]

const reading = ['pretty']
const listing = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'pretty',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
]
const writing = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty']
const deleting = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'pretty', 'propagationPolicy', 'reason']
const queryOf: Record<Action, string[]> = {
  list: listing,
  get: reading,
  post: writing,
  put: writing,
  patch: [...writing, 'force'].sort(),
  delete: deleting,
  deletecollection: [...new Set([...listing.filter((name) => name !== 'watch'), ...deleting])].sort(),
}
const types: Record<string, string> = {
  allowWatchBookmarks: 'boolean',
  watch: 'boolean',
  sendInitialEvents: 'boolean',
  orphanDependents: 'boolean',
  force: 'boolean',
  limit: 'integer',
  timeoutSeconds: 'integer',
  gracePeriodSeconds: 'integer',
}

const prefixOf = ({ group, version }: ResourceDefinition): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`

/** `api/v1`, `apis/apps/v1`: how the index names a document. */
export const documentPath = (definition: ResourceDefinition): string => prefixOf(definition).slice(1)

function operationsOf(definition: ResourceDefinition): Operation[] {
  const { verbs = allVerbs, namespaced, plural } = definition
  const prefix = prefixOf(definition)
  const collection = namespaced ? `${prefix}/namespaces/{namespace}/${plural}` : `${prefix}/${plural}`
  const object = `${collection}/{name}`
  const own = { definition, kind: definition }
  const operations: Operation[] = []
  const add = (verb: Verb, action: Action, method: Method, path: string): void => {
    if (verbs.includes(verb)) operations.push({ ...own, action, method, path })
  }
  add('list', 'list', 'get', collection)
  add('create', 'post', 'post', collection)
  add('deletecollection', 'deletecollection', 'delete', collection)
  add('get', 'get', 'get', object)
  add('update', 'put', 'put', object)
  add('patch', 'patch', 'patch', object)
  add('delete', 'delete', 'delete', object)
  if (namespaced) add('list', 'list', 'get', `${prefix}/${plural}`)
  for (const entry of subresourcesOf(definition)) {
    const kind = {
      group: entry.group ?? definition.group,
      version: entry.version ?? definition.version,
      kind: entry.kind,
    }
    for (const [verb, action, method] of [
      ['get', 'get', 'get'],
      ['create', 'post', 'post'],
      ['update', 'put', 'put'],
      ['patch', 'patch', 'patch'],
    ] as const) {
      if (!entry.verbs.includes(verb)) continue
      const path = `${object}/${entry.name}`
      operations.push({ definition, kind, action, method, path, subresource: entry.name })
    }
  }
  return operations
}

const ref = (schema: string) => ({ $ref: `#/components/schemas/${schema}` })

/** Name of a custom resource's type. */
const customSchema = ({ group, version, kind }: ResourceDefinition): string =>
  `${group.split('.').reverse().join('.')}.${version}.${kind}`
const schemaName = (definition: ResourceDefinition): string =>
  definition.custom ? customSchema(definition) : definition.schema

function operationDocument({ action, definition, kind, subresource, path }: Operation): object {
  const scope = definition.namespaced && path.includes('{namespace}') ? 'Namespaced' : ''
  const tag = `${(definition.group.split('.')[0] || 'core').replaceAll('-', '')}_${definition.version}`
  const suffix = subresource ? subresource.charAt(0).toUpperCase() + subresource.slice(1) : ''
  const schema = ref(subresource && kind.kind !== definition.kind ? `${META}.Status` : schemaName(definition))
  const content = (names: string[], body: object) => Object.fromEntries(names.map((name) => [name, { schema: body }]))
  return {
    tags: [tag],
    description: describe(action, definition.kind, subresource),
    operationId: `${action}${tag.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}${scope}${definition.kind}${suffix}`,
    parameters: queryOf[action].map((name) => ({
      name,
      in: 'query',
      schema: { type: types[name] ?? 'string', uniqueItems: true },
    })),
    ...(action === 'post' || action === 'put'
      ? { requestBody: { content: { '*/*': { schema } }, required: true } }
      : {}),
    ...(action === 'patch'
      ? { requestBody: { content: content(patchTypes(definition), ref(`${META}.Patch`)), required: true } }
      : {}),
    ...(action === 'delete' || action === 'deletecollection'
      ? { requestBody: { content: { '*/*': { schema: ref(`${META}.DeleteOptions`) } } } }
      : {}),
    responses: {
      [action === 'post' ? 201 : 200]: { description: 'OK', content: content(media, schema) },
      401: { description: 'Unauthorized' },
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: kind.group, version: kind.version, kind: kind.kind },
  }
}

const patchTypes = ({ custom }: ResourceDefinition): string[] =>
  custom ? patchMedia.filter((name) => !name.includes('strategic')) : patchMedia

const phrases: Record<Action, string> = {
  list: 'list or watch objects of kind',
  get: 'read the specified',
  post: 'create a',
  put: 'replace the specified',
  patch: 'partially update the specified',
  delete: 'delete a',
  deletecollection: 'delete collection of',
}
const describe = (action: Action, kind: string, subresource: string | undefined): string =>
  `${phrases[action]} ${kind}${subresource ? `, subresource ${subresource}` : ''}`

function pathsOf(definitions: Definitions): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of definitions.flatMap(operationsOf)) {
    paths[operation.path] ??= { parameters: pathParameters(operation.path) }
    Object.assign(paths[operation.path] as object, { [operation.method]: operationDocument(operation) })
  }
  return Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const pathParameters = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', uniqueItems: true },
  }))

function componentsOf(definitions: Definitions): Record<string, DocumentedSchema> {
  const builtIn = definitions.filter(({ custom }) => !custom).map(({ schema }) => schema)
  const schemas = documentedSchemas([
    ...builtIn,
    `${META}.ObjectMeta`,
    `${META}.DeleteOptions`,
    `${META}.Patch`,
    `${META}.Status`,
  ])
  for (const definition of definitions) {
    if (!definition.custom) continue
    const { group, version, kind } = definition
    schemas[customSchema(definition)] = {
      ...publishedSchema(definition.custom.schema),
      'x-kubernetes-group-version-kind': [{ group, version, kind }],
    }
  }
  return schemas
}

export const info = { title: 'Kubernetes', version: kubernetesVersion.gitVersion }

/** The document of one group-version. */
export const openapiV3 = (definitions: Definitions): object => ({
  openapi: '3.0.0',
  info,
  paths: pathsOf(definitions),
  components: { schemas: componentsOf(definitions) },
})

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
export function openapiV3Index(definitions: Definitions): object {
  const groups = Map.groupBy(definitions, documentPath)
  const paths = [...groups].map(([path, members]): [string, object] => [
    path,
    { serverRelativeURL: `/openapi/v3/${path}?hash=${documentHash(members)}` },
  ])
  const version = { serverRelativeURL: `/openapi/v3/version?hash=${documentHash([])}` }
  return {
    paths: Object.fromEntries(
      [...paths, ['version', version] as [string, object]].sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  }
}

export const versionDocument = (): object => ({
  openapi: '3.0.0',
  info,
  paths: {
    '/version/': {
      get: {
        tags: ['version'],
        description: 'get the version information for this server',
        operationId: 'getCodeVersion',
        responses: {
          200: {
            description: 'OK',
            content: { 'application/json': { schema: ref('io.k8s.apimachinery.pkg.version.Info') } },
          },
          401: { description: 'Unauthorized' },
        },
      },
    },
  },
  components: { schemas: documentedSchemas(['io.k8s.apimachinery.pkg.version.Info']) },
})

/** The whole API in the older format. */
export function openapiV2(definitions: Definitions): object {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of definitions.flatMap(operationsOf)) {
    const { definition, kind, action } = operation
    const item = {
      consumes: action === 'patch' ? patchTypes(definition) : ['*/*'],
      produces: media,
      schemes: ['https'],
      operationId: (operationDocument(operation) as { operationId: string }).operationId,
      parameters: [
        ...pathParameters(operation.path).map(({ name }) => ({ name, in: 'path', required: true, type: 'string' })),
        ...queryOf[action].map((name) => ({ name, in: 'query', type: types[name] ?? 'string', uniqueItems: true })),
      ],
      responses: { 200: { description: 'OK', schema: { $ref: `#/definitions/${schemaName(definition)}` } } },
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': { group: kind.group, version: kind.version, kind: kind.kind },
    }
    paths[operation.path] = { ...paths[operation.path], [operation.method]: item }
  }
  return { swagger: '2.0', info, paths, definitions: swaggerSchemas(componentsOf(definitions)) }
}
