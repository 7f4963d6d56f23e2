/** Definitions come, change and go; what is stored follows. On the real registry and store, without HTTP. */

import t, { type Test } from 'tap'
import { rulesOf } from '../../../apiserver/apiextensions/cel/rule-check.ts'
import {
  type CustomResourceDefinition,
  conditionOf,
  isConditionTrue,
} from '../../../apiserver/apiextensions/custom-resource-definition.ts'
import { CustomResources } from '../../../apiserver/apiextensions/custom-resources.ts'
import type { ResourceDefinition } from '../../../apiserver/kind/resource-definition.ts'
import { Catalog } from '../../../apiserver/registry/catalog.ts'
import { keyPrefix } from '../../../apiserver/registry/keys.ts'
import { ObjectCaches } from '../../../apiserver/registry/object-caches.ts'
import { Registry } from '../../../apiserver/registry/registry.ts'
import { decodeStored } from '../../../apiserver/registry/stored-object.ts'
import { customresourcedefinition } from '../../../apiserver/resources/apiextensions/customresourcedefinition.ts'
import { createMemoryStorage } from '../../../apiserver/storage/memory.ts'
import { decodeBody } from '../../../apiserver/validation/request-body.ts'
import type { WebhookClient } from '../../../apiserver/webhook-client/webhook-client.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { defaultFeatureGates } from '../../../shared/config/feature-gates.ts'
import { createLog } from '../../../shared/log/log.ts'
import { until } from '../../harness/until.ts'

const user = { name: 'tester', groups: ['system:masters'] }
const group = 'example.com'
const webhookClient: WebhookClient = { post: () => Promise.reject(new Error('nobody is asked')), close() {} }

class Server {
  readonly registry: Registry
  readonly warnings: string[] = []
  readonly #custom: CustomResources
  constructor(t: Test) {
    const storage = createMemoryStorage()
    this.registry = new Registry({
      objects: new ObjectCaches({ catalog: new Catalog([customresourcedefinition]), storage }),
      clock: realClock,
      featureGates: defaultFeatureGates,
      limits: defaultWorkLimits,
      random: Math.random,
    })
    this.#custom = new CustomResources({
      kind: customresourcedefinition,
      registry: this.registry,
      log: createLog({ level: 'error', component: 'test' }),
      rulesOf,
      webhookClient,
    })
    t.teardown(async () => {
      await this.#custom.close()
      this.registry.objects.close()
      await storage.close()
    })
  }
  async start(): Promise<this> {
    await this.#custom.start()
    return this
  }
  readonly #options = {
    dryRun: false,
    fieldManager: 'test',
    warn: (text: string): void => void this.warnings.push(text),
  }

  async create(definition: ResourceDefinition, body: object, namespace?: string): Promise<KubeObject> {
    const { object } = decodeBody(definition, structuredClone(body) as Record<string, unknown>)
    definition.strategy.applyDefaults?.(object, this.registry.strategyContext({ definition, user }))
    return decodeStored(await this.registry.create({ definition, namespace, user }, object, this.#options))
  }
  async change(
    definition: ResourceDefinition,
    name: string,
    change: (object: KubeObject) => void,
    namespace?: string,
  ): Promise<KubeObject> {
    const { stored } = await this.registry.update(
      { definition, namespace, name, user },
      {
        uidIsPrecondition: false,
        createAbsent: 'never',
        transform(current) {
          const object = current?.()
          if (object === undefined) throw new Error(`${name} is not there`)
          change(object)
          return object
        },
      },
      this.#options,
    )
    return decodeStored(stored)
  }
  delete(definition: ResourceDefinition, name: string, namespace?: string) {
    return this.registry.delete({ definition, namespace, name, user }, {}, this.#options)
  }
  get(definition: ResourceDefinition, name: string, namespace?: string): KubeObject {
    return decodeStored(this.registry.get({ definition, namespace, name, user }))
  }
  crd(name: string): CustomResourceDefinition | undefined {
    return this.registry.lookup(customresourcedefinition, undefined, name) as CustomResourceDefinition | undefined
  }
  find(version: string, plural = 'things'): ResourceDefinition | undefined {
    return this.registry.catalog.find(group, version, plural)
  }
  async served(version: string, plural = 'things'): Promise<ResourceDefinition> {
    await until(() => this.find(version, plural) !== undefined, { what: `${plural} in ${version} served` })
    return this.find(version, plural) as ResourceDefinition
  }
}

const specSchema = (properties: object): object => ({
  type: 'object',
  properties: { spec: { type: 'object', properties } },
})
const versionOf = (name: string, properties: object, more: object = {}): object => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: specSchema(properties) },
  ...more,
})
const definitionOf = (versions: object[], names: object = {}): CustomResourceDefinition => {
  const all = { plural: 'things', kind: 'Thing', ...names }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${all.plural}.${group}` },
    spec: { group, scope: 'Namespaced', names: all, versions: versions as never },
  }
}
const thing = (spec: object, more: object = {}): object => ({
  apiVersion: `${group}/v1`,
  kind: 'Thing',
  metadata: { name: 't', ...more },
  spec,
})
const text = { type: 'string' }

t.test('a definition is established and served, and its objects obey it', async (t) => {
  const server = await new Server(t).start()
  await server.create(
    customresourcedefinition,
    definitionOf([versionOf('v1', { a: { type: 'string', maxLength: 3 } }, { storage: true })]),
  )
  const things = await server.served('v1')
  await until(
    () => conditionOf(server.crd('things.example.com') as CustomResourceDefinition, 'Established')?.status === 'True',
    { what: 'established' },
  )
  await t.rejects(server.create(things, thing({ a: 'long' }), 'default'), { message: /may not be more than 3 bytes/ })
  const created = await server.create(things, thing({ a: 'ok', unknown: 1 }), 'default')
  t.strictSame(created.spec, { a: 'ok' })
  t.equal(created.metadata.generation, 1)
})

t.test(
  'a definition is served in the turn in which the store says that it is established, and not before',
  async (t) => {
    const server = await new Server(t).start()
    const isServed = (): boolean => server.find('v1') !== undefined
    const { promise, resolve } = Promise.withResolvers<boolean[]>()
    server.registry.storage.watch({
      prefix: keyPrefix(customresourcedefinition),
      onEvents() {
        const crd = server.crd('things.example.com')
        if (!crd || !isConditionTrue(crd, 'Established')) return
        const before = isServed()
        setImmediate(() => resolve([before, isServed()]))
      },
    })
    await server.create(customresourcedefinition, definitionOf([versionOf('v1', { a: text }, { storage: true })]))
    t.same(await promise, [false, true])
  },
)

t.test('a changed schema prunes and defaults what was stored before, and ends watches of the old one', async (t) => {
  const server = await new Server(t).start()
  await server.create(
    customresourcedefinition,
    definitionOf([versionOf('v1', { a: text, b: text }, { storage: true })]),
  )
  const before = await server.served('v1')
  await server.create(before, thing({ a: 'x', b: 'gone' }), 'default')
  let ended = false
  const end = (): void => {
    ended = true
  }
  server.registry.cacheOf(before).join(
    {
      write: () => undefined,
      buffered: () => 0,
      drained: async () => undefined,
      end,
      abort: end,
    },
    { selection: { prefix: '/registry/', labels: [], fields: [] }, encoder: { encode: () => '' }, bookmarks: false },
  )
  await server.change(customresourcedefinition, 'things.example.com', (crd) => {
    ;(crd as CustomResourceDefinition).spec.versions = [
      versionOf('v1', { a: text, n: { type: 'integer', default: 7 } }, { storage: true }),
    ] as never
  })
  await until(() => server.find('v1') !== before, { what: 'the new schema served' })
  t.strictSame(server.get(server.find('v1') as ResourceDefinition, 't', 'default').spec, { a: 'x', n: 7 })
  t.ok(ended, 'the watch of the old schema ended')
})

t.test('each version shows its own fields of what is stored in one', async (t) => {
  const server = await new Server(t).start()
  await server.create(
    customresourcedefinition,
    definitionOf([
      versionOf('v1', { a: text, one: text }, { storage: true }),
      versionOf('v2', { a: text, two: { type: 'string', default: 'd' } }),
      versionOf('v3', {}, { served: false }),
    ]),
  )
  const v1 = await server.served('v1')
  const v2 = await server.served('v2')
  t.equal(server.find('v3'), undefined, 'what is not served is not there')
  await server.create(v1, thing({ a: 'x', one: 'y' }), 'default')
  t.strictSame(server.get(v2, 't', 'default').spec, { a: 'x' }, 'defaults are those of the version stored')
  const changed = await server.change(
    v2,
    't',
    (object) => {
      object.spec = { a: 'z', two: 'q' }
    },
    'default',
  )
  t.strictSame(changed.spec, { a: 'z' }, 'what the stored version cannot say is not kept')
  t.strictSame(server.get(v1, 't', 'default').spec, { a: 'z' })
})

t.test('names belong to the first definition, and are free when it is deleted', async (t) => {
  const server = await new Server(t).start()
  const versions = [versionOf('v1', { a: text }, { storage: true })]
  await server.create(customresourcedefinition, definitionOf(versions, { shortNames: ['th'] }))
  await server.served('v1')
  await server.create(
    customresourcedefinition,
    definitionOf(versions, { plural: 'stuffs', kind: 'Stuff', shortNames: ['th'] }),
  )
  const accepted = () => conditionOf(server.crd('stuffs.example.com') as CustomResourceDefinition, 'NamesAccepted')
  await until(() => accepted() !== undefined, { what: 'names decided' })
  t.match(accepted(), { status: 'False', reason: 'ShortNamesConflict', message: '"th" is already in use' })
  t.equal(server.find('v1', 'stuffs'), undefined)
  await server.delete(customresourcedefinition, 'things.example.com')
  await server.served('v1', 'stuffs')
  t.equal(server.find('v1'), undefined)
})

t.test('a deleted definition takes its objects along, and waits for the last', async (t) => {
  const server = await new Server(t).start()
  await server.create(customresourcedefinition, definitionOf([versionOf('v1', { a: text }, { storage: true })]))
  const things = await server.served('v1')
  await server.create(things, thing({ a: 'x' }, { finalizers: ['example.com/hold'] }), 'default')
  await server.create(things, thing({ a: 'y' }, { name: 'u' }), 'default')
  const seen: string[] = []
  server.registry.cacheOf(things).join(
    {
      write: (types: string[]) => seen.push(...types),
      buffered: () => 0,
      drained: async () => undefined,
      end: () => seen.push('end'),
      abort: () => seen.push('abort'),
    },
    {
      selection: { prefix: '/registry/', labels: [], fields: [] },
      encoder: { encode: (records) => records.map(({ type }) => type) },
      bookmarks: false,
    },
  )
  await server.delete(customresourcedefinition, 'things.example.com')
  const terminating = () => conditionOf(server.crd('things.example.com') as CustomResourceDefinition, 'Terminating')
  await until(() => terminating()?.reason === 'InstanceDeletionInProgress', { what: 'deletion in progress' })
  const current = server.find('v1') as ResourceDefinition
  await t.rejects(server.create(current, thing({}, { name: 'late' }), 'default'), {
    message: /create not allowed while custom resource definition is terminating/,
  })
  await until(() => server.registry.lookup(current, 'default', 'u') === undefined, { what: 'the other object gone' })
  t.ok(server.get(current, 't', 'default').metadata.deletionTimestamp)
  await server.change(
    current,
    't',
    (object) => {
      object.metadata.finalizers = undefined
    },
    'default',
  )
  await until(() => server.crd('things.example.com') === undefined, { what: 'the definition gone' })
  await until(() => server.find('v1') === undefined, { what: 'served no longer' })
  t.same(seen, ['MODIFIED', 'DELETED', 'DELETED', 'end'], 'a watch lasts until everything is gone')
})

t.test('what an object got wrong before is let be, what it gets wrong now is not', async (t) => {
  const server = await new Server(t).start()
  await server.create(
    customresourcedefinition,
    definitionOf([versionOf('v1', { a: text, b: text }, { storage: true })]),
  )
  const before = await server.served('v1')
  await server.create(before, thing({ a: 'long text', b: 'x' }), 'default')
  await server.change(customresourcedefinition, 'things.example.com', (crd) => {
    ;(crd as CustomResourceDefinition).spec.versions = [
      versionOf('v1', { a: { type: 'string', maxLength: 3 }, b: text }, { storage: true }),
    ] as never
  })
  await until(() => server.find('v1') !== before, { what: 'the new schema served' })
  const things = server.find('v1') as ResourceDefinition
  const changed = await server.change(
    things,
    't',
    (object) => {
      object.spec = { a: 'long text', b: 'y' }
    },
    'default',
  )
  t.strictSame(changed.spec, { a: 'long text', b: 'y' })
  await t.rejects(
    server.change(
      things,
      't',
      (object) => {
        object.spec = { a: 'other text' }
      },
      'default',
    ),
    { message: /spec\.a: Too long/ },
  )
})

t.test('definitions in the store are served from the start', async (t) => {
  const first = await new Server(t).start()
  await first.create(customresourcedefinition, definitionOf([versionOf('v1', { a: text }, { storage: true })]))
  await first.served('v1')
  const second = new CustomResources({
    kind: customresourcedefinition,
    registry: first.registry,
    log: createLog({ level: 'error', component: 'test' }),
    webhookClient,
  })
  first.registry.objects.uninstall([first.find('v1') as ResourceDefinition])
  await second.start()
  t.teardown(() => second.close())
  t.ok(first.find('v1'))
})
