/**
 * Describes what can be done with a resource, by path and method. Upstream: apiserver/pkg/endpoints/installer.go; of
 * custom resources: builder.go.
 */
import { openApiSchemas } from '../../../openapi/schemas.ts'
import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { ResourceDefinition, SubresourceEntry, Verb } from '../../kind/resource-definition.ts'
import { traitsOf } from '../../kind/subresource-traits.ts'
import { subresourcesOf } from '../../kind/subresources.ts'
import { everyRequest, type OpenApiParameter, optionsAs, pathParameters } from './parameters.ts'

export interface GroupVersionKind {
  group: string
  version: string
  kind: string
}
export type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch'
/** Independent of the format in which it is published. */
export interface Operation {
  path: string
  method: Method
  id: string
  tag: string
  description: string
  /** Names the action on a resource; absent if no resource is meant. */
  action?: string
  type?: GroupVersionKind
  parameters: OpenApiParameter[]
  body?: { schema: string; required: boolean }
  consumes: readonly string[]
  produces: readonly string[]
  /** HTTP status → name of a schema, or `string` for text. */
  answers: Record<number, string>
}

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1'
export const TEXT = 'string'
const STATUS = `${META}.Status`
const allVerbs: Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

const any = ['*/*']
const textual = ['application/json', 'application/yaml']
export const encodings = [...textual, 'application/vnd.kubernetes.protobuf']
const streams = [...encodings, 'application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch']
const strategic = 'application/strategic-merge-patch+json'
const patches = [
  'application/json-patch+json',
  'application/merge-patch+json',
  strategic,
  'application/apply-patch+yaml',
]
const customPatches = patches.filter((type) => type !== strategic)

/** `my-group.example.com` → `myGroupExampleCom`. Upstream: ToValidOperationID. */
const joined = (text: string): string => text.replaceAll(/[^A-Za-z0-9_]+(.?)/g, (_, next: string) => next.toUpperCase())
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
/** `rbac.authorization.k8s.io` → `rbacAuthorization`. */
export const groupTag = (group: string): string => joined((group || 'core').replace(/\.k8s\.io$/, ''))
export const versionTag = (group: string, version: string): string => `${groupTag(group)}_${joined(version)}`
/** `CoreV1`, as it stands in operation ids. */
export const idPart = (group: string, version: string): string => capital(groupTag(group)) + capital(joined(version))
export const groupPrefix = (group: string): string => (group === '' ? '/api' : `/apis/${group}`)

/** Returns the kind with the article that upstream guesses: `a Pod`, `an Ingress`, `Endpoints`. */
function one(kind: string): string {
  if (/[^s]s$/.test(kind)) return kind
  return `${/^[aeiou]/i.test(kind) ? 'an' : 'a'} ${kind}`
}

/** Name of the schema of a resource, of its lists, and of the kind that a subresource takes and answers. */
export function schemaName({ custom, schema, group, version, kind }: ResourceDefinition): string {
  return custom ? customName({ group, version, kind }) : schema
}
export const listKindOf = ({ listKind, kind }: ResourceDefinition): string => listKind ?? `${kind}List`
export function listSchemaName(definition: ResourceDefinition): string {
  const { custom, schema, group, version } = definition
  return custom ? customName({ group, version, kind: listKindOf(definition) }) : `${schema}List`
}
const customName = ({ group, version, kind }: GroupVersionKind): string =>
  `${group.split('.').reverse().join('.')}.${version}.${kind}`

let kinds: Map<string, string> | undefined
const kindKey = ({ group, version, kind }: GroupVersionKind): string => `${apiVersionOf({ group, version })} ${kind}`
function schemaOfKind(type: GroupVersionKind): string {
  kinds ??= new Map(
    openApiSchemas().flatMap(([name, schema]) =>
      (schema['x-kubernetes-group-version-kind'] ?? []).map((known) => [kindKey(known), name] as const),
    ),
  )
  return kinds.get(kindKey(type)) ?? STATUS
}

/** Adds to one path what verbs allow there. */
class PathOperations {
  readonly operations: Operation[] = []
  readonly #definition: ResourceDefinition
  readonly #isCustom: boolean
  readonly #id: string
  readonly #tag: string

  constructor(definition: ResourceDefinition) {
    this.#definition = definition
    this.#isCustom = definition.custom !== undefined
    this.#id = idPart(definition.group, definition.version)
    this.#tag = versionTag(definition.group, definition.version)
  }

  /** All of a resource. */
  all(): Operation[] {
    const { namespaced, plural, group, version, verbs = allVerbs } = this.#definition
    const prefix = `${groupPrefix(group)}/${version}`
    const place = (start: string) => `${start}/${namespaced ? 'namespaces/{namespace}/' : ''}${plural}`
    const collection = place(prefix)
    this.#collection(collection, verbs)
    this.#object(`${collection}/{name}`, verbs)
    if (namespaced && verbs.includes('list')) this.#list(`${prefix}/${plural}`, verbs)
    for (const entry of subresourcesOf(this.#definition)) this.#subresource(`${collection}/{name}/${entry.name}`, entry)
    // Custom resources are watched there as well, but upstream's builder does not say so.
    if (verbs.includes('watch') && !this.#isCustom) {
      const watched = place(`${prefix}/watch`)
      this.#watchList(watched)
      if (verbs.includes('get')) this.#watchObject(`${watched}/{name}`)
      if (namespaced) this.#watchList(`${prefix}/watch/${plural}`)
    }
    return this.operations
  }

  #collection(path: string, verbs: readonly string[]): void {
    const own = schemaName(this.#definition)
    if (verbs.includes('list')) this.#list(path, verbs)
    if (verbs.includes('create')) this.#create(path, `create ${one(this.#definition.kind)}`, own)
    if (verbs.includes('deletecollection')) {
      const parameters = this.#isCustom
        ? optionsAs('ListOptions')
        : [...optionsAs('ListOptions').filter(({ name }) => !ofWatches.has(name)), ...optionsAs('DeleteOptions')]
      this.#add(path, 'delete', 'deletecollection', {
        id: ['delete', `Collection${this.#scoped(path)}`],
        description: `delete collection of ${this.#definition.kind}`,
        parameters,
        ...(!this.#isCustom && { body: deleteOptions }),
        answers: { 200: STATUS },
      })
    }
  }

  #list(path: string, verbs: readonly string[]): void {
    const { namespaced, kind } = this.#definition
    const everywhere = namespaced && !path.includes('{namespace}')
    this.#add(path, 'get', 'list', {
      id: ['list', everywhere ? `${kind}ForAllNamespaces` : this.#scoped(path)],
      description: `list ${verbs.includes('watch') && !this.#isCustom ? 'or watch ' : ''}objects of kind ${kind}`,
      parameters: optionsAs('ListOptions'),
      answers: { 200: listSchemaName(this.#definition) },
      ...(!this.#isCustom && { produces: streams }),
    })
  }

  #create(path: string, description: string, schema: string, more: Partial<Described> = {}): void {
    this.#add(path, 'post', 'post', {
      id: ['create', this.#scoped(path)],
      description,
      parameters: optionsAs('CreateOptions'),
      body: { schema, required: true },
      answers: { 200: schema, 201: schema, 202: schema },
      ...more,
    })
  }

  #object(path: string, verbs: readonly string[]): void {
    const { kind, strategy } = this.#definition
    this.#readAndWrite(path, verbs, schemaName(this.#definition))
    if (!verbs.includes('delete')) return
    // A namespace is answered as well, but documented as a Status.
    const answersObject = strategy.returnsDeletedObject && !strategy.deletion && !this.#isCustom
    const schema = answersObject ? schemaName(this.#definition) : STATUS
    this.#add(path, 'delete', 'delete', {
      id: ['delete', this.#scoped(path)],
      description: `delete ${one(kind)}`,
      parameters: optionsAs('DeleteOptions'),
      body: deleteOptions,
      answers: { 200: schema, 202: schema },
    })
  }

  /** GET, PUT and PATCH of an object, or of one of its subresources. */
  #readAndWrite(path: string, verbs: readonly string[], schema: string, entry?: Partial<Described>): void {
    const { kind } = this.#definition
    const of = entry?.subresource ? `${entry.subresource} of the specified ${kind}` : `the specified ${kind}`
    const write = { ...entry, body: { schema, required: true }, parameters: optionsAs('CreateOptions') }
    const scoped = this.#scoped(path, entry?.subresource)
    if (verbs.includes('get')) {
      const { text } = traitsOf(entry?.subresource)
      const options = text ? optionsAs(text.options) : []
      this.#add(path, 'get', 'get', {
        ...entry,
        id: ['read', scoped],
        description: `read ${of}`,
        parameters: this.#isCustom
          ? optionsAs('ListOptions').filter(({ name }) => name === 'resourceVersion')
          : options,
        answers: { 200: text ? TEXT : schema },
        ...(text && { produces: ['text/plain', ...encodings] }),
      })
    }
    if (verbs.includes('update')) {
      const answers = { 200: schema, 201: schema }
      this.#add(path, 'put', 'put', { ...write, id: ['replace', scoped], description: `replace ${of}`, answers })
    }
    if (verbs.includes('patch')) {
      this.#add(path, 'patch', 'patch', {
        ...entry,
        id: ['patch', scoped],
        description: `partially update ${of}`,
        parameters: optionsAs('PatchOptions'),
        body: { schema: `${META}.Patch`, required: true },
        consumes: this.#isCustom ? customPatches : patches,
        answers: this.#isCustom ? { 200: schema } : { 200: schema, 201: schema },
      })
    }
  }

  #subresource(path: string, { name, verbs, kind, ...of }: SubresourceEntry): void {
    const { group, version, custom } = this.#definition
    const type = { group: of.group ?? group, version: of.version ?? version, kind }
    if (kind.endsWith('Options')) {
      this.#connect(path, name, type)
      return
    }
    const schema = kind === this.#definition.kind ? schemaName(this.#definition) : schemaOfKind(type)
    // Upstream's builder names a custom resource's own kind even for its scale.
    const entry = { subresource: name, ...(!custom && { type }) }
    this.#readAndWrite(path, verbs, schema, entry)
    if (verbs.includes('create')) {
      const description = `create ${name} of ${one(this.#definition.kind)}`
      this.#create(path, description, schema, { ...entry, id: ['create', this.#scoped(path, name)] })
    }
  }

  /** Describes what is handed on to a kubelet, a pod or a service: any method where it is a proxy. */
  #connect(path: string, name: string, type: GroupVersionKind): void {
    const isProxy = type.kind.endsWith('ProxyOptions')
    const methods: Method[] = isProxy ? ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] : ['get', 'post']
    for (const [at, suffix] of isProxy
      ? [[path, ''] as const, [`${path}/{path}`, 'WithPath'] as const]
      : [[path, '']]) {
      for (const method of methods) {
        this.#add(at as string, method, 'connect', {
          id: ['connect', `${capital(method)}${this.#scoped(path, name)}${suffix}`],
          description: `connect ${method.toUpperCase()} requests to ${name} of ${this.#definition.kind}`,
          type,
          parameters: optionsAs(type.kind),
          produces: any,
          answers: { 200: TEXT },
        })
      }
    }
  }

  #watchList(path: string): void {
    const { namespaced, kind } = this.#definition
    const everywhere = namespaced && !path.includes('{namespace}')
    this.#watch(path, 'watchlist', everywhere ? `${kind}ListForAllNamespaces` : `${this.#scoped(path)}List`, [
      `watch individual changes to a list of ${kind}.`,
      "deprecated: use the 'watch' parameter with a list operation instead.",
    ])
  }

  #watchObject(path: string): void {
    this.#watch(path, 'watch', this.#scoped(path), [
      `watch changes to an object of kind ${this.#definition.kind}.`,
      "deprecated: use the 'watch' parameter with a list operation instead,",
      "filtered to a single item with the 'fieldSelector' parameter.",
    ])
  }

  #watch(path: string, action: string, id: string, sentences: string[]): void {
    this.#add(path, 'get', action, {
      id: ['watch', id],
      description: sentences.join(' '),
      parameters: optionsAs('ListOptions'),
      produces: streams,
      answers: { 200: `${META}.WatchEvent` },
    })
  }

  #scoped(path: string, subresource = ''): string {
    const { kind } = this.#definition
    return `${path.includes('{namespace}') ? 'Namespaced' : ''}${kind}${capital(subresource)}`
  }

  #add(path: string, method: Method, action: string, described: Described): void {
    const { group, version, kind } = this.#definition
    const { id, subresource: _, type = { group, version, kind }, parameters, ...rest } = described
    const [verb, name] = id
    this.operations.push({
      path,
      method,
      action,
      id: `${verb}${this.#id}${name}`,
      tag: this.#tag,
      type,
      consumes: this.#isCustom ? textual : any,
      produces: this.#isCustom ? textual : encodings,
      ...rest,
      parameters: [...pathParameters(path, type.kind), ...(action === 'connect' ? [] : everyRequest()), ...parameters],
    })
  }
}

/** An operation as its verb describes it; the rest is the resource's. */
interface Described
  extends Pick<Operation, 'description' | 'parameters' | 'answers'>,
    Partial<Pick<Operation, 'type' | 'body' | 'consumes' | 'produces'>> {
  /** Verb, and what follows group and version. */
  id: [verb: string, name: string]
  subresource?: string
}
const deleteOptions = { schema: `${META}.DeleteOptions`, required: false }
const ofWatches = new Set(['allowWatchBookmarks', 'watch'])

export const operationsOf = (definition: ResourceDefinition): Operation[] => new PathOperations(definition).all()
