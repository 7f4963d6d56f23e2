import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { connect, createSecureServer, type Http2ServerRequest } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { anonymous } from '../../apiserver/auth/anonymous.ts'
import { bearerToken } from '../../apiserver/auth/bearer-token.ts'
import { authenticate, authorize } from '../../apiserver/auth/chain.ts'
import { clientCertificate } from '../../apiserver/auth/client-certificate.ts'
import { createNodeAuthorizer } from '../../apiserver/auth/node-authorizer.ts'
import type { NodePods } from '../../apiserver/auth/node-pods.ts'
import { storeBootstrapPolicy } from '../../apiserver/auth/rbac/bootstrap/bootstrap-policy.ts'
import { createRbacAuthorizer } from '../../apiserver/auth/rbac/rbac-authorizer.ts'
import { createRuleResolver } from '../../apiserver/auth/rbac/rule-resolver.ts'
import { superuser } from '../../apiserver/auth/superuser.ts'
import type { Attributes, RequestedResource, User } from '../../apiserver/auth/types.ts'
import { Catalog } from '../../apiserver/registry/catalog.ts'
import { Registry } from '../../apiserver/registry/registry.ts'
import { resources } from '../../apiserver/resources/index.ts'
import { createMemoryStorage } from '../../apiserver/storage/memory.ts'
import { StatusError } from '../../shared/api/status-error.ts'
import type { Pod } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { issueCertificate, type KeyPair, signCertificate } from '../../shared/pki/certificate.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'

const nowMs = Date.now()

t.test('who asks', async (t) => {
  const pki = ensureClusterPki({
    directory: t.testdir(),
    nowMs,
    host: '127.0.0.1',
    serviceAddress: '10.96.0.1',
    nodeName: 'n',
  })
  const chain = [clientCertificate(), bearerToken({ authenticate: () => undefined }), anonymous]
  const server = createSecureServer({
    ...pki.apiServer,
    ca: pki.ca.cert,
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
  })
  server.on('request', (request: Http2ServerRequest, response) => {
    try {
      response.end(JSON.stringify(authenticate(chain, request)))
    } catch (error) {
      response.statusCode = (error as StatusError).code
      response.end(JSON.stringify({ name: (error as StatusError).message }))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo

  const ask = async (identity: Partial<KeyPair>, headers = {}): Promise<User> => {
    const session = connect(`https://127.0.0.1:${port}`, { ca: pki.ca.cert, ...identity })
    const answers: User[] = []
    for (let round = 0; round < 2; round++) {
      const text = await session
        .request({ ':path': '/', ...headers })
        .setEncoding('utf8')
        .toArray()
      answers.push(JSON.parse(text.join('')))
    }
    session.close()
    t.same(answers[0], answers[1], 'the same on each request of a connection')
    return answers[0]!
  }

  t.match(await ask(pki.admin), { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] })
  t.match(await ask(pki.kubeletClient), { name: 'system:node:n', groups: ['system:nodes', 'system:authenticated'] })
  t.match(await ask({}), { name: 'system:anonymous', groups: ['system:unauthenticated'] })
  t.match(await ask({}, { authorization: 'Bearer nonsense' }), { name: 'Unauthorized' })
  t.match(await ask({}, { authorization: 'Bearer ' }), { name: 'system:anonymous' })
  t.match(await ask({}, { authorization: 'Basic eDp5' }), { name: 'system:anonymous' })
  const validity = { notBefore: '2026-01-01T00:00:00Z', notAfter: '2049-01-01T00:00:00Z' }
  const stranger = issueCertificate({
    commonName: 'kubernetes-admin',
    organizations: ['system:masters'],
    usage: 'client',
    ...validity,
  })
  t.match(await ask(stranger), { name: 'Unauthorized' }, 'a certificate that we did not sign')

  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const twoNames = signCertificate(
    {
      subject: Buffer.concat([
        Buffer.from([0x30, 30]),
        ...['boss', 'jane'].map((name) =>
          Buffer.from(`310d300b06035504030c04${Buffer.from(name).toString('hex')}`, 'hex'),
        ),
      ]),
      publicKeyInfo: publicKey.export({ type: 'spki', format: 'der' }),
      keyUsages: ['digital signature'],
      extendedUsages: ['client auth'],
      ...validity,
    },
    pki.ca,
  )
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  t.match(
    await ask({ cert: twoNames, key }),
    { name: 'jane' },
    'of two names, the one that signers and approvers go by',
  )
})

const admin: User = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] }
const jane: User = { name: 'jane', groups: ['system:authenticated'] }
const nobody: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }
const node: User = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] }

const pod = (name: string, nodeName: string, spec = {}): Pod => ({
  metadata: { name, namespace: 'default' },
  spec: { nodeName, serviceAccountName: 'robot', containers: [{ name: 'c' }], ...spec } as Pod['spec'],
})
const stored = [
  pod('mine', 'n1', {
    volumes: [
      { name: 'v', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } },
      { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'scratch', ephemeral: {} },
    ],
    initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'env' } }] }],
  }),
  pod('other', 'n2', { volumes: [{ name: 'v', secret: { secretName: 'theirs' } }] }),
]
const nodePods: NodePods = {
  nodeOf: ({ name }) => stored.find((candidate) => candidate.metadata.name === name)?.spec.nodeName,
  onNode: async (nodeName) => stored.filter(({ spec }) => spec.nodeName === nodeName),
  claimOf: async (volume) => (volume === 'disk' ? { namespace: 'default', name: 'data' } : undefined),
}
const storage = createMemoryStorage()
await storeBootstrapPolicy(storage, '2026-01-01T00:00:00Z')
const registry = new Registry({
  catalog: new Catalog(resources),
  storage,
  clock: realClock,
  featureGates: { enabled: () => true },
  random: Math.random,
})
await registry.load()
t.teardown(() => registry.close())
const rules = createRuleResolver(registry.lookup, registry.lookupAll)
const authorizers = [superuser, createNodeAuthorizer(nodePods), createRbacAuthorizer(rules)]

async function answer(attributes: Attributes): Promise<string> {
  try {
    await authorize(authorizers, attributes)
    return 'allowed'
  } catch (error) {
    if (error instanceof StatusError && error.code === 403) return error.message
    throw error
  }
}
const path = (user: User, verb: string, path: string): Promise<string> => answer({ user, verb, path })
const resource = (
  user: User,
  verb: string,
  resource: string,
  rest: Partial<RequestedResource> = {},
): Promise<string> => {
  const [plural = '', subresource] = resource.split('/')
  return answer({ user, verb, path: '/', resource: { group: '', resource: plural, subresource, ...rest } })
}
const here = { namespace: 'default' }

t.test('health and version for anybody, discovery for whoever has a name', async (t) => {
  for (const open of ['/healthz', '/livez', '/readyz', '/version']) t.equal(await path(nobody, 'get', open), 'allowed')
  t.equal(await path(nobody, 'get', '/api'), 'forbidden: User "system:anonymous" cannot get path "/api"')
  t.equal(await path(jane, 'get', '/apis/apps/v1'), 'allowed')
  t.equal(await path(jane, 'get', '/metrics'), 'forbidden: User "jane" cannot get path "/metrics"')
  t.equal(await path(admin, 'get', '/metrics'), 'allowed')
})

t.test('a refusal reads as upstream writes it', async (t) => {
  t.equal(
    await resource(jane, 'patch', 'pods/status', { ...here, name: 'p' }),
    'pods "p" is forbidden: User "jane" cannot patch resource "pods/status" in API group "" in the namespace "default"',
  )
  t.equal(
    await resource(jane, 'list', 'clusterroles', { group: 'rbac.authorization.k8s.io' }),
    'clusterroles.rbac.authorization.k8s.io is forbidden: User "jane" cannot list resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope',
  )
  t.equal(await resource(admin, 'delete', 'nodes'), 'allowed')
})

t.test('a kubelet reaches its own node, its own pods, and what those name', async (t) => {
  const allowed: [verb: string, resource: string, rest?: Partial<RequestedResource>][] = [
    ['create', 'nodes', { name: 'n1' }],
    ['create', 'nodes'],
    ['get', 'nodes', { name: 'n1' }],
    ['patch', 'nodes/status', { name: 'n1' }],
    ['list', 'pods', { fieldSelector: 'spec.nodeName=n1' }],
    ['watch', 'pods', { fieldSelector: 'spec.nodeName=n1' }],
    ['get', 'pods', { ...here, name: 'mine' }],
    ['patch', 'pods/status', { ...here, name: 'mine' }],
    ['delete', 'pods', { ...here, name: 'mine' }],
    ['create', 'events', here],
    ['patch', 'events', { ...here, name: 'e' }],
    ['watch', 'services'],
    ['get', 'configmaps', { ...here, name: 'kube-root-ca.crt' }],
    ['get', 'secrets', { ...here, name: 'env' }],
    ['get', 'persistentvolumeclaims', { ...here, name: 'data' }],
    ['get', 'persistentvolumeclaims', { ...here, name: 'mine-scratch' }],
    ['get', 'persistentvolumes', { name: 'disk' }],
    ['create', 'serviceaccounts/token', { ...here, name: 'robot' }],
    ['update', 'leases', { group: 'coordination.k8s.io', namespace: 'kube-node-lease', name: 'n1' }],
  ]
  for (const [verb, what, rest] of allowed)
    t.equal(await resource(node, verb, what, rest), 'allowed', `${verb} ${what}`)

  const refused: typeof allowed = [
    ['get', 'nodes', { name: 'n2' }],
    ['patch', 'nodes/status', { name: 'n2' }],
    ['get', 'persistentvolumes', { name: 'other-disk' }],
    ['list', 'persistentvolumes'],
    ['list', 'pods'],
    ['list', 'pods', { fieldSelector: 'spec.nodeName=n2' }],
    ['get', 'pods', { ...here, name: 'other' }],
    ['patch', 'pods/status', { ...here, name: 'other' }],
    ['create', 'pods/binding', { ...here, name: 'mine' }],
    ['update', 'pods', { ...here, name: 'mine' }],
    ['get', 'secrets', { ...here, name: 'theirs' }],
    ['list', 'secrets', here],
    ['update', 'leases', { group: 'coordination.k8s.io', namespace: 'kube-node-lease', name: 'n2' }],
    ['update', 'leases', { group: 'coordination.k8s.io', namespace: 'default', name: 'n1' }],
  ]
  for (const [verb, what, rest] of refused)
    t.match(await resource(node, verb, what, rest), /is forbidden: User "system:node:n1"/, `${verb} ${what}`)
  t.match(
    await resource(node, 'get', 'secrets', { ...here, name: 'theirs' }),
    /: no relationship found between node 'n1' and this object$/,
  )
})
