/** Custom resources with generated definitions: schemas, rules, versions, subresources and columns. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { JsonObject } from '../bases.ts'
import type { Case, Step } from '../case.ts'
import { mutate } from '../mutate.ts'
import { get, inSomeForm, patch, post, protobuf, put, query, remove } from '../steps.ts'
import { fitting, type Schema, schemaOf } from './schemas.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const group = '{{name}}.example.com'
const definition = `${definitions}/things.${group}`

const columns: readonly JsonObject[] = [
  { name: 'A', type: 'string', jsonPath: '.spec.a' },
  { name: 'B', type: 'integer', jsonPath: '.spec.replicas', priority: 1 },
  { name: 'C', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'D', type: 'boolean', jsonPath: '.spec.b', description: 'd' },
  { name: 'E', type: 'string', jsonPath: '.spec.c[*].name' },
  { name: 'F', type: 'number', jsonPath: '.spec.a' },
  { name: 'G', type: 'string', jsonPath: '.status' },
  { name: 'H', type: 'string', jsonPath: '.spec.c[0]', format: 'byte' },
  { name: 'I', type: 'string', jsonPath: '.metadata.labels' },
  { name: 'J', type: 'string', jsonPath: '.spec.c[?(@.name=="a")].v' },
]
const oddColumns: readonly JsonObject[] = [
  { name: '', type: 'string', jsonPath: '.a' },
  { name: 'X', type: 'x', jsonPath: '.a' },
  { name: 'X', type: 'string', jsonPath: 'a' },
  { name: 'X', type: 'string', jsonPath: '.a[' },
  { name: 'X', type: 'string', jsonPath: '' },
]
const scales: readonly JsonObject[] = [
  { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' },
  { specReplicasPath: '.spec.a', statusReplicasPath: '.status.a' },
]
const oddScales: readonly JsonObject[] = [
  { specReplicasPath: '.status.replicas', statusReplicasPath: '.status.replicas' },
  { specReplicasPath: 'spec.replicas', statusReplicasPath: '.status.replicas' },
  { specReplicasPath: '.spec.replicas' },
  {},
]

interface Version extends JsonObject {
  name: string
  schema: { openAPIV3Schema: Schema }
}

function versionOf(name: string, random: Random): Version {
  const spec = { type: 'object', ...schemaOf(random, 2) } as Schema
  if (spec.type === 'object' && spec.properties && random.chance(0.5)) spec.properties.replicas = { type: 'integer' }
  const status: Schema = random.chance(0.5)
    ? {
        type: 'object',
        properties: { replicas: { type: 'integer' }, selector: { type: 'string' }, a: schemaOf(random, 1) },
      }
    : { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const root: Schema = {
    type: 'object',
    properties: { spec, ...(random.chance(0.8) && { status }) } as Record<string, Schema>,
  }
  if (random.chance(0.1)) root.required = ['spec']
  if (random.chance(0.15))
    root.properties!.metadata = random.pick<Schema>([
      { type: 'object' },
      { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } },
    ])
  if (random.chance(0.1))
    root['x-kubernetes-validations'] = [
      { rule: random.pick(["self.metadata.name != 'b'", 'has(self.spec)', 'self.kind == "Thing"']) },
    ]
  const some = <T>(items: readonly T[], odd: readonly T[]): T => random.pick(random.chance(0.95) ? items : odd)
  const printed = random.chance(0.4)
    ? Array.from({ length: 1 + random.below(3) }, () => some(columns, oddColumns))
    : undefined
  const subresources = {
    ...(random.chance(0.6) && { status: {} }),
    ...(random.chance(0.4) && { scale: some(scales, oddScales) }),
  }
  return {
    name,
    served: true,
    storage: false,
    schema: { openAPIV3Schema: root },
    ...(Object.keys(subresources).length > 0 && { subresources }),
    ...(printed && { additionalPrinterColumns: printed }),
    ...(random.chance(0.2) && {
      selectableFields: [{ jsonPath: random.pick(['.spec.a', '.spec.name', '.spec.b', '.metadata.name']) }],
    }),
    ...(random.chance(0.15) && {
      deprecated: true,
      ...(random.chance(0.5) && { deprecationWarning: random.pick(['old', '', 'a"b']) }),
    }),
  }
}

function definitionOf(random: Random): { body: JsonObject; versions: Version[]; namespaced: boolean } {
  const versions = ['v1', ...(random.chance(0.35) ? [random.pick(['v1beta1', 'v2', 'v1alpha1'])] : [])].map((name) =>
    versionOf(name, random),
  )
  random.pick(versions).storage = true
  // Nearly always both versions have the same fields, as without a webhook they must.
  if (versions.length > 1 && random.chance(0.7)) versions[1]!.schema = structuredClone(versions[0]!.schema)
  if (versions.length > 1 && random.chance(0.1)) versions[1]!.served = false
  const namespaced = random.chance(0.7)
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        plural: 'things',
        singular: 'thing',
        kind: 'Thing',
        ...(random.chance(0.2) && { listKind: 'ThingList', shortNames: ['t{{name}}'], categories: ['c'] }),
      },
      versions,
      ...(random.chance(0.05) && { preserveUnknownFields: random.chance(0.5) }),
      ...(random.chance(0.05) && { conversion: { strategy: random.pick(['None', 'x']) } }),
    },
  }
  return { body, versions, namespaced }
}

const parameters = {
  fieldManager: ['f', 'g'],
  fieldValidation: ['Strict', 'Warn', 'Ignore'],
  dryRun: ['All'],
  force: ['true'],
}
const listParameters = {
  labelSelector: ['a=1', '!a'],
  fieldSelector: ['metadata.name=a', 'spec.a=a', 'spec.a!=a', 'spec.b=1', 'spec.name=a', 'metadata.namespace=default'],
  limit: ['1'],
  resourceVersion: ['0'],
}

/** Defines a resource and sends requests to it; some only change the definition. */
export function makeCustom(random: Random): Case {
  const { body: defined, versions, namespaced } = definitionOf(random)
  // What is changed in the definition does not decide which objects are sent.
  const body = structuredClone(defined)
  const odd = random.chance(0.12)
  const what = odd ? mutate(body, random) : `${versions.length} versions`
  const made = post(`${definitions}?fieldManager=f`, body)
  if (odd && random.chance(0.8))
    return { kind: 'definition', operation: 'custom', what, steps: [made, get(definition)] }
  const root = `/apis/${group}/v1`
  const served = versions.filter(({ served }) => served).map(({ name }) => name)
  const ready = { ...get(`${root.replace('v1', served[0] ?? 'v1')}/things`), until: 200 }
  const steps: Step[] = [made, ready]
  const writer = new Writer(versions, namespaced, random)
  steps.push(...writer.first())
  for (let more = 4 + random.below(8); more > 0; more--) steps.push(writer.next())
  steps.push(get(definition))
  return { kind: 'custom', operation: 'custom', what, steps }
}

const save = { rv: 'metadata.resourceVersion', uid: 'metadata.uid' }
// biome-ignore format: a table
const operations = [
  'create', 'create', 'put', 'put', 'merge', 'merge', 'json', 'apply', 'apply', 'apply', 'strategic', 'get', 'list', 'list',
  'status', 'status', 'scale', 'scale', 'delete', 'definition', 'deletecollection',
] as const

class Writer {
  readonly #versions: readonly Version[]
  readonly #namespaced: boolean
  readonly #random: Random
  constructor(versions: readonly Version[], namespaced: boolean, random: Random) {
    this.#versions = versions
    this.#namespaced = namespaced
    this.#random = random
  }

  first(): Step[] {
    const version = this.#versions[0]!
    return [{ ...post(`${this.#collection(version)}?fieldManager=f`, this.#object(version, 'a')), save }]
  }

  next(): Step {
    const random = this.#random
    const version = random.pick(this.#versions)
    return inSomeForm(random, this.#step(version, random.pick(operations)))
  }

  #collection({ name }: Version): string {
    return `/apis/${group}/${name}/${this.#namespaced ? 'namespaces/default/' : ''}things`
  }

  #object(version: Version, name: string): JsonObject {
    const random = this.#random
    const { spec, status } = version.schema.openAPIV3Schema.properties!
    const object: JsonObject = {
      apiVersion: `${group}/${version.name}`,
      kind: 'Thing',
      metadata: { name, ...(random.chance(0.3) && { labels: { a: '1' } }) },
      ...(random.chance(0.95) && { spec: fitting(spec!, random) }),
      ...(random.chance(0.2) && { status: fitting(status ?? {}, random) }),
    }
    if (random.chance(0.1)) mutate(object, random)
    return object
  }

  #step(version: Version, operation: (typeof operations)[number]): Step {
    const random = this.#random
    const collection = this.#collection(version)
    const name = random.pick(['a', 'a', 'a', 'b'])
    const object = this.#object(version, name)
    const asked = `${collection}/${name}${query(random, parameters, 2)}`
    switch (operation) {
      case 'create':
        return post(
          `${collection}${query(random, parameters, 2)}`,
          random.chance(0.03) ? { ...object, kind: 'Other' } : object,
        )
      case 'put':
        return put(asked, this.#withRevision(object))
      case 'merge':
      case 'strategic':
        return patch(operation, asked, this.#partOf(object))
      case 'json':
        return patch('json', asked, [this.#jsonOperation(version)])
      case 'apply':
        return patch(
          'apply',
          asked.includes('fieldManager') ? asked : `${asked}${asked.includes('?') ? '&' : '?'}fieldManager=g`,
          object,
        )
      case 'get':
        return get(`${collection}/${name}`)
      case 'list':
        return get(`${collection}${query(random, listParameters, 2)}`)
      case 'delete':
        return remove(`${collection}/${name}`, random.pick([undefined, {}, { propagationPolicy: 'Foreground' }]))
      case 'deletecollection':
        return remove(`${collection}${query(random, listParameters, 1)}`)
      case 'status':
        return this.#status(`${collection}/${name}/status${query(random, parameters, 1)}`, object)
      case 'scale':
        return this.#scale(`${collection}/${name}/scale${query(random, parameters, 1)}`)
      case 'definition':
        return patch(
          'merge',
          `${definition}?fieldManager=g`,
          random.pick<JsonObject>([
            { metadata: { labels: { x: 'y' } } },
            { spec: { names: { shortNames: ['u{{name}}'] } } },
            { spec: { scope: 'x' } },
            { status: { storedVersions: ['x'] } },
            { metadata: { annotations: { 'api-approved.kubernetes.io': 'x' } } },
          ]),
        )
    }
  }

  #withRevision(object: JsonObject): JsonObject {
    const random = this.#random
    if (random.chance(0.15)) return object
    const metadata = { ...(object.metadata as JsonObject), resourceVersion: random.pick(['{{rv}}', '0', '', '1']) }
    return { ...object, metadata }
  }

  #partOf({ spec, status, metadata }: JsonObject): JsonObject {
    return this.#random.pick<JsonObject>([
      { spec },
      { spec },
      { status },
      { metadata },
      { spec: null },
      { spec, status },
    ])
  }

  #jsonOperation(version: Version): JsonObject {
    const random = this.#random
    const names = Object.keys(version.schema.openAPIV3Schema.properties!.spec?.properties ?? { a: {} })
    return {
      op: random.pick(['add', 'replace', 'remove', 'test', 'copy']),
      path: random.pick([`/spec/${random.pick(names)}`, '/spec', '/status', '/metadata/labels']),
      from: '/spec',
      value: random.pick<unknown>(['a', 1, null, {}, [], { a: 1 }]),
    }
  }

  #status(path: string, object: JsonObject): Step {
    const random = this.#random
    const part = {
      metadata: { labels: { s: 't' } },
      status: object.status ?? random.pick<unknown>([{ replicas: 2, selector: 'a=b' }, {}, null, 'x']),
    }
    switch (random.pick(['get', 'put', 'merge', 'apply'] as const)) {
      case 'get':
        return get(path)
      case 'put':
        return put(path, { ...this.#withRevision(object), status: part.status })
      case 'merge':
        return patch('merge', path, part)
      case 'apply':
        return patch('apply', `${path}${path.includes('?') ? '&' : '?'}fieldManager=s`, {
          apiVersion: object.apiVersion,
          kind: object.kind,
          ...part,
        })
    }
  }

  #scale(path: string): Step {
    const random = this.#random
    const spec = { replicas: random.pick<unknown>([1, 3, 0, -1, 'x', null, 3_000_000_000]) }
    const scale = {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'a', ...(this.#namespaced && { namespace: 'default' }) },
      spec,
    }
    switch (random.pick(['get', 'get', 'put', 'merge', 'apply', 'protobuf'] as const)) {
      case 'get':
        return get(path)
      case 'put':
        return put(path, random.chance(0.9) ? scale : { ...scale, kind: 'Thing' })
      case 'protobuf':
        return { ...get(path), accept: protobuf }
      case 'merge':
        return patch('merge', path, { spec })
      case 'apply':
        return patch('apply', `${path}${path.includes('?') ? '&' : '?'}fieldManager=s`, scale)
    }
  }
}
