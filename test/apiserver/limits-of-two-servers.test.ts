/** Two servers of one process have different limits, and each refuses by its own, in whatever order they started. */
import t, { type Test } from 'tap'
import type { Limits } from '../../apiserver/http/limits/limits.ts'
import { encodeProtobuf } from '../../apiserver/protobuf/encode.ts'
import type { Status } from '../../shared/api/status/status-error.ts'
import { type Received, type SendOptions, startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'

t.setTimeout(240_000)

const KiB = 1024
const limitsOf = {
  tight: {
    maxRequestBodyValues: 3_000,
    maxCelSteps: 1_000,
    maxSchemaSteps: 1_000,
    maxStatusCauseBytes: 2_000,
    maxRequestBodyBytes: 64 * KiB,
  },
  wide: {
    maxRequestBodyValues: 20_000,
    maxCelSteps: 100_000,
    maxSchemaSteps: 4_000,
    maxStatusCauseBytes: 8_000,
    maxRequestBodyBytes: 128 * KiB,
  },
} satisfies Record<string, Partial<Limits>>
type Name = keyof typeof limitsOf
type Servers = Record<Name, TestApiServer>

const core = '/api/v1/namespaces/default'
const things = '/apis/x.dev/v1/namespaces/default/things'
const admissionregistration = '/apis/admissionregistration.k8s.io/v1'

for (const order of [
  ['tight', 'wide'],
  ['wide', 'tight'],
] as const) {
  t.test(`${order.join(' before ')}: each server refuses by its own limits`, async (t) => {
    const started: Partial<Servers> = {}
    for (const name of order) started[name] = await startTestApiServer(t, {}, undefined, limitsOf[name])
    const servers = started as Servers
    for (const [what, check] of Object.entries(checks)) await t.test(what, (t) => check(t, servers))
  })
}

const checks: Record<string, (t: Test, servers: Servers) => Promise<void>> = {
  async 'values of a body'(t, servers) {
    const data = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`k${index}`, '1']))
    const list = `[${'1,'.repeat(4_000)}1]`
    const { kind, apiVersion } = { kind: 'ConfigMap', apiVersion: 'v1' }
    const object = { apiVersion, kind, metadata: { name: 'x' }, data }
    const volumes = Array.from({ length: 400 }, (_, index) => ({ name: `v${index}`, emptyDir: {} }))
    const pod = { metadata: { name: 'x' }, spec: { volumes, containers: [{ name: 'c', image: 'i' }] } }
    const patch = (type: string, body: string) => ({ method: 'PATCH', body, headers: { 'content-type': type } })
    const post = (type: string, body: string | Buffer) => ({ method: 'POST', body, headers: { 'content-type': type } })
    const requests: Record<string, [string, SendOptions]> = {
      JSON: ['/configmaps', post('application/json', JSON.stringify(object))],
      'JSON that is called YAML': ['/configmaps', post('application/yaml', JSON.stringify(object))],
      YAML: ['/configmaps', post('application/yaml', `metadata: {name: x}\na: ${list}`)],
      protobuf: ['/configmaps', post('application/vnd.kubernetes.protobuf', encodeProtobuf(object)!)],
      'objects in a list': ['/pods', { method: 'POST', body: pod }],
      'merge patch': ['/configmaps/old', patch('application/merge-patch+json', `{"a":${list}}`)],
      'strategic merge patch': ['/configmaps/old', patch('application/strategic-merge-patch+json', `{"a":${list}}`)],
      'JSON patch': [
        '/configmaps/old',
        patch('application/json-patch+json', `[{"op":"add","path":"/a","value":${list}}]`),
      ],
      apply: ['/configmaps/old?fieldManager=a', patch('application/apply-patch+yaml', JSON.stringify(object))],
      delete: ['/configmaps/old', { method: 'DELETE', body: { dryRun: Array(4_000).fill('All') } }],
    }
    for (const { send } of Object.values(servers))
      await send(`${core}/configmaps`, { method: 'POST', body: { metadata: { name: 'old' } } })
    for (const [what, [path, options]] of Object.entries(requests)) {
      const url = `${core}${path}${path.includes('?') ? '&' : '?'}dryRun=All${options.method === 'DELETE' ? '' : '&fieldValidation=Ignore'}`
      const body = what === 'apply' ? String(options.body).replace('"x"', '"old"') : options.body
      const refused = await servers.tight.send(url, { ...options, body })
      t.match(refused, { status: 413, body: { message: /limit is 3000 objects, lists and members of either/ } }, what)
      const { status, body: answer } = await servers.wide.send(url, { ...options, body })
      t.ok(status === 200 || status === 201, `${what}: ${status} ${JSON.stringify(answer).slice(0, 300)}`)
    }
    const admin = { name: 'admin', groups: ['system:masters'] }
    const pods = { group: '', version: 'v1', plural: 'pods' }
    const create = ({ client }: TestApiServer) => client(admin).create(pods, pod, { namespace: 'default' })
    await t.rejects(create(servers.tight), { message: /limit is 3000 objects/ }, 'a client of the process')
    await t.resolves(create(servers.wide))
    const large = { metadata: { name: 'x' }, a: Array(25_000).fill(1) }
    const refused = await servers.wide.send(`${core}/configmaps`, { method: 'POST', body: large })
    t.match(refused, { status: 413, body: { message: /limit is 20000 objects/ } }, 'the wide server has its own')
  },

  async 'values that a JSON patch copies'(t, servers) {
    const value = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, '1']))
    const copy = { op: 'copy', from: '/data', path: '/metadata/annotations' }
    const body = JSON.stringify([{ op: 'add', path: '/data', value }, ...Array(20).fill(copy)])
    const options = { method: 'PATCH', body, headers: { 'content-type': 'application/json-patch+json' } }
    for (const [name, status] of [['tight', 422] as const, ['wide', 200] as const])
      t.equal((await servers[name].send(`${core}/configmaps/old?dryRun=All`, options)).status, status, name)
  },

  async 'steps of a schema, and the cost of its rules'(t, servers) {
    const anyOf = Array.from({ length: 100 }, (_, index) => ({ maxLength: index }))
    const texts = { type: 'array', items: { type: 'string', anyOf } }
    const rule = { rule: 'self.all(a, self.all(b, a + b >= 0))' }
    const numbers = { type: 'array', maxItems: 400, items: { type: 'integer' }, 'x-kubernetes-validations': [rule] }
    const schema = (part: object) => ({
      type: 'object',
      properties: { texts, numbers, ...part },
      'x-kubernetes-preserve-unknown-fields': true,
    })
    const long = Array(50).fill('x'.repeat(99))
    const thing = (fields: object) => ({ apiVersion: 'x.dev/v1', kind: 'Thing', metadata: { name: 'x' }, ...fields })
    for (const name of ['tight', 'wide'] as const) {
      const server = servers[name]
      const post = (fields: object) => server.send(`${things}?dryRun=All`, { method: 'POST', body: thing(fields) })
      t.match(await define(server, schema({})), { status: 201 })
      const steps = new RegExp(`took more than ${limitsOf[name].maxSchemaSteps} steps and was stopped`)
      await served(server)
      t.match(await post({ texts: long }), { status: 422, body: { message: steps } }, `${name}: an object`)
      const definition = await define(server, schema({ other: { ...texts, default: long } }), 'others')
      t.match(definition, { status: 422, body: { message: steps } }, `${name}: the default of a definition`)
      const isTight = name === 'tight'
      t.equal((await post({ numbers: Array(50).fill(1) })).status, isTight ? 422 : 201, `${name}: a rule`)
      const costly = await post({ numbers: Array(300).fill(1) })
      t.match(costly, { status: 422, body: { message: /actual cost limit exceeded/ } }, `${name}: a costly rule`)
      const byDefault = await define(server, schema({ other: { ...numbers, default: Array(50).fill(1) } }), 'others')
      t.equal(byDefault.status, isTight ? 422 : 201, `${name}: a rule about a default`)
    }
  },

  async 'cost of policies'(t, servers) {
    const numbers = `[${Array(50).fill(1)}]`
    const expression = `${numbers}.all(a, ${numbers}.all(b, a + b > 0))`
    const policies = {
      secrets: { validations: [{ expression }] },
      serviceaccounts: { matchConditions: [{ name: 'm', expression }], validations: [{ expression: 'true' }] },
    }
    for (const name of ['tight', 'wide'] as const) {
      const post = (path: string, body: object) => servers[name].send(path, { method: 'POST', body })
      for (const [resource, spec] of Object.entries(policies)) {
        const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] }
        const policy = { metadata: { name: resource }, spec: { matchConstraints: { resourceRules: [rule] }, ...spec } }
        const binding = { metadata: { name: resource }, spec: { policyName: resource, validationActions: ['Deny'] } }
        t.equal((await post(`${admissionregistration}/validatingadmissionpolicies`, policy)).status, 201)
        t.equal((await post(`${admissionregistration}/validatingadmissionpolicybindings`, binding)).status, 201)
        const { status } = await post(`${core}/${resource}?dryRun=All`, { metadata: { name: 'x' } })
        t.equal(status, name === 'tight' ? 422 : 201, `${name}: ${resource}`)
      }
    }
  },

  async 'causes of a refusal'(t, servers) {
    const scopes = Array.from({ length: 500 }, (_, index) => `Scope${index}`)
    const data = (value: string) => Object.fromEntries(scopes.map((key) => [key, value]))
    const quota = { method: 'POST', body: { metadata: { name: 'q' }, spec: { scopes } } }
    const apply = ({ send }: TestApiServer, manager: string, value: string) =>
      send(`${core}/configmaps/causes?fieldManager=${manager}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'causes' }, data: data(value) },
      })
    for (const name of ['tight', 'wide'] as const) {
      const server = servers[name]
      const most = limitsOf[name].maxStatusCauseBytes
      const isWithin = (answer: Received, what: string): void => {
        const { details, message = '' } = answer.body as Status
        const bytes = JSON.stringify(details?.causes).length
        t.ok(bytes > most / 2 && bytes < 2 * most, `${name}: ${what}: ${bytes} bytes, of ${most}`)
        t.ok(message.length < 3 * most, `${name}: ${what}: a message of ${message.length}`)
      }
      isWithin(await server.send(`${core}/resourcequotas`, quota), 'mistakes of an object')
      await apply(server, 'a', '1')
      const conflict = await apply(server, 'b', '2')
      t.equal(conflict.status, 409)
      isWithin(conflict, 'conflicts of an apply')
      const long = 'x'.repeat(20_000)
      isWithin(await server.send(`${core}/configmaps?resourceVersion=1&resourceVersionMatch=${long}`), 'a parameter')
    }
  },

  async 'bytes of a stored object'(t, servers) {
    const patch = ({ send }: TestApiServer, key: string) =>
      send(`${things}/large`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { [key]: 'x'.repeat(60 * KiB) },
      })
    for (const [name, fitting] of [['tight', 3] as const, ['wide', 6] as const]) {
      const server = servers[name]
      const body = { apiVersion: 'x.dev/v1', kind: 'Thing', metadata: { name: 'large' } }
      t.equal((await server.send(things, { method: 'POST', body })).status, 201)
      for (let index = 0; index < fitting; index++) t.equal((await patch(server, `k${index}`)).status, 200)
      const limit = 3 * limitsOf[name].maxRequestBodyBytes
      const message = new RegExp(`bytes as it is stored: limit is ${limit}$`)
      t.match(await patch(server, 'last'), { status: 413, body: { message } }, name)
    }
  },
}

const define = ({ send }: TestApiServer, openAPIV3Schema: object, plural = 'things'): Promise<Received> =>
  send('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: {
      metadata: { name: `${plural}.x.dev` },
      spec: {
        group: 'x.dev',
        scope: 'Namespaced',
        names: { plural, kind: plural === 'things' ? 'Thing' : 'Other' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
      },
    },
  })

const served = ({ send }: TestApiServer): Promise<void> =>
  until(async () => (await send(things)).status === 200, { what: 'the kind to be served' }).then(() => undefined)
