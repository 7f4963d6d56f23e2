import t, { type Test } from 'tap'
import { openEtcdStorage } from '../../apiserver/storage/etcd/etcd.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { skipOrFail } from '../harness/skip.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'
import { until } from '../harness/until.ts'

const configmaps = '/api/v1/namespaces/default/configmaps'
const rounds = 3

async function startServer(t: Test, url: string, like?: TestApiServer): Promise<TestApiServer> {
  const storage = await openEtcdStorage({ endpoints: [url], prefix: '/registry', clock: realClock })
  return startTestApiServer(t, {}, undefined, undefined, { storage, like })
}

let count = 0
const newName = (): string => `n${++count}`
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const admission = '/apis/admissionregistration.k8s.io/v1'
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test('what one server has acknowledged, the other obeys', async (t) => {
    const etcd = await startEtcd(t, program)
    // What etcd tells the second server comes late.
    const { port } = await startTcpProxy(t, etcd.url, { delayMs: 20 })
    const a = await startServer(t, etcd.url)
    const b = await startServer(t, `http://127.0.0.1:${port}`, a)

    /** A change at the first server, which has acknowledged it when this resolves. */
    const change = async (method: string, path: string, body?: object): Promise<KubeObject> => {
      const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : undefined
      const answer = await a.send(path, { method, body, headers })
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
      return answer.body as KubeObject
    }
    /** The status of a request at the second server. */
    const asked = async (method: string, path: string, body?: object): Promise<number> =>
      (await b.send(path, { method, body })).status
    const createsConfigMap = (): Promise<number> => asked('POST', configmaps, { metadata: { name: newName() } })

    await t.test('roles and their bindings', async (t) => {
      const jane = { name: 'jane', groups: ['system:authenticated'] }
      const reads = async () => (await b.inject(jane, { method: 'GET', url: configmaps })).statusCode
      const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]
      await change('POST', `${rbac}/clusterroles`, { metadata: { name: 'reader' }, rules })
      const binding = {
        metadata: { name: 'jane' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
      }
      for (let round = 0; round < rounds; round++) {
        t.equal(await reads(), 403)
        await change('POST', `${rbac}/clusterrolebindings`, binding)
        t.equal(await reads(), 200)
        await change('DELETE', `${rbac}/clusterrolebindings/jane`)
      }
    })

    await t.test('service accounts, and tokens of the other server', async (t) => {
      const path = '/api/v1/namespaces/default/serviceaccounts'
      for (let round = 0; round < rounds; round++) {
        await change('POST', path, { metadata: { name: 'robot' } })
        const { status } = await change('POST', `${path}/robot/token`, { spec: {} })
        const headers = { authorization: `Bearer ${(status as { token: string }).token}` }
        const greeted = async () => (await b.send('/api', { headers, anonymous: true })).status
        t.equal(await greeted(), 200)
        const review = { spec: { token: (status as { token: string }).token } }
        const reviewed = await b.send('/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body: review })
        t.match(reviewed.body, { status: { authenticated: true } })
        await change('DELETE', `${path}/robot`)
        const refused = await b.send(configmaps, { headers, anonymous: true })
        t.equal(refused.status, 401)
      }
    })

    await t.test('bootstrap tokens', async (t) => {
      const path = '/api/v1/namespaces/kube-system/secrets'
      await a.send('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'kube-system' } } })
      const headers = { authorization: 'Bearer abcdef.0123456789abcdef' }
      const known = async () => (await b.send(configmaps, { headers, anonymous: true })).status
      for (let round = 0; round < rounds; round++) {
        t.equal(await known(), 401)
        await change('POST', path, {
          metadata: { name: 'bootstrap-token-abcdef' },
          type: 'bootstrap.kubernetes.io/token',
          stringData: {
            'token-id': 'abcdef',
            'token-secret': '0123456789abcdef',
            'usage-bootstrap-authentication': 'true',
          },
        })
        t.equal(await known(), 403, 'known, and not allowed')
        await change('DELETE', `${path}/bootstrap-token-abcdef`)
      }
    })

    await t.test('validating policies and webhooks', async (t) => {
      const matchConstraints = {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      }
      const validations = [{ expression: 'false' }]
      await change('POST', `${admission}/validatingadmissionpolicies`, {
        metadata: { name: 'never' },
        spec: { matchConstraints, validations },
      })
      const binding = { metadata: { name: 'never' }, spec: { policyName: 'never', validationActions: ['Deny'] } }
      const webhook = {
        name: 'nobody.example.com',
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      }
      const hooks = `${admission}/validatingwebhookconfigurations`
      for (let round = 0; round < rounds; round++) {
        t.equal(await createsConfigMap(), 201)
        await change('POST', `${admission}/validatingadmissionpolicybindings`, binding)
        t.equal(await createsConfigMap(), 422)
        await change('DELETE', `${admission}/validatingadmissionpolicybindings/never`)
        t.equal(await createsConfigMap(), 201)
        await change('POST', hooks, { metadata: { name: 'nobody' }, webhooks: [webhook] })
        t.equal(await createsConfigMap(), 500)
        await change('DELETE', `${hooks}/nobody`)
      }
    })

    await t.test('namespaces', async (t) => {
      for (let round = 0; round < rounds; round++) {
        const name = newName()
        const path = `/api/v1/namespaces/${name}/configmaps`
        t.equal(await asked('POST', path, { metadata: { name: 'x' } }), 404)
        await change('POST', '/api/v1/namespaces', { metadata: { name } })
        t.equal(await asked('POST', path, { metadata: { name: 'x' } }), 201)
        await change('DELETE', `/api/v1/namespaces/${name}`)
        t.equal(await asked('POST', path, { metadata: { name: 'y' } }), 403)
      }
    })

    await t.test('custom resources, from when they are established, with their schema as it is', async (t) => {
      for (let round = 0; round < rounds; round++) {
        const group = `g${round}.example.com`
        const name = `things.${group}`
        const schema = (size: object) => ({
          openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer', ...size } } },
        })
        const versions = (size: object) => [{ name: 'v1', served: true, storage: true, schema: schema(size) }]
        await change('POST', crds, {
          metadata: { name },
          spec: { group, scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions: versions({}) },
        })
        const isEstablished = async () => {
          const { status } = await change('GET', `${crds}/${name}`)
          const { conditions } = (status ?? {}) as { conditions?: { type: string; status: string }[] | null }
          return conditions?.some((condition) => condition.type === 'Established' && condition.status === 'True')
        }
        await until(isEstablished, { what: 'the definition' })
        const path = `/apis/${group}/v1/namespaces/default/things`
        const thing = (size: number) => ({
          apiVersion: `${group}/v1`,
          kind: 'Thing',
          metadata: { name: newName() },
          size,
        })
        if (round % 2 === 0) t.equal(await asked('POST', path, thing(5)), 201)
        else t.match(await b.send(`/apis/${group}/v1`), { status: 200, body: { resources: [{ name: 'things' }] } })
        await change('PATCH', `${crds}/${name}`, { spec: { versions: versions({ maximum: 3 }) } })
        t.equal(await asked('POST', path, thing(5)), 422)
        t.equal(await asked('POST', path, thing(2)), 201)
      }
    })

    await t.test('quotas: together the servers grant no more, and no less', async (t) => {
      await change('POST', '/api/v1/namespaces', { metadata: { name: 'small' } })
      const hard = { 'count/configmaps': '30' }
      const path = '/api/v1/namespaces/small/resourcequotas'
      await change('POST', path, { metadata: { name: 'q' }, spec: { hard } })
      await change('PATCH', `${path}/q/status`, { status: { hard, used: { 'count/configmaps': '0' } } })
      const create = (server: TestApiServer) =>
        server.send('/api/v1/namespaces/small/configmaps', {
          method: 'POST',
          body: { metadata: { generateName: 'c' } },
        })
      const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => create(index % 2 ? a : b)))
      const statuses = Map.groupBy(answers, ({ status }) => status)
      t.same([...statuses.keys()].sort(), [201, 403], `${[...statuses.keys()]}`)
      t.equal(statuses.get(201)?.length, 30)
      for (const { body } of statuses.get(403) ?? []) t.match(body, { message: /exceeded quota: q/ })
      t.match(await b.send(`${path}/q`), { body: { status: { used: { 'count/configmaps': '30' } } } })
    })
  })
}
