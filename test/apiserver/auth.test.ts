import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { connect, createSecureServer, type Http2ServerRequest } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { anonymous } from '../../apiserver/auth/anonymous.ts'
import { bearerToken } from '../../apiserver/auth/bearer-token.ts'
import { authenticate, authorize } from '../../apiserver/auth/chain.ts'
import { clientCertificate } from '../../apiserver/auth/client-certificate.ts'
import { createRbacAuthorizer } from '../../apiserver/auth/rbac/rbac-authorizer.ts'
import { createRuleResolver } from '../../apiserver/auth/rbac/rule-resolver.ts'
import { superuser } from '../../apiserver/auth/superuser.ts'
import type { Attributes, RequestedResource } from '../../apiserver/auth/types.ts'
import { storeBootstrapPolicy } from '../../apiserver/bootstrap/bootstrap-policy.ts'
import type { User } from '../../apiserver/kind/user.ts'
import { Catalog } from '../../apiserver/registry/catalog.ts'
import { ObjectCaches } from '../../apiserver/registry/object-caches.ts'
import { Registry } from '../../apiserver/registry/registry.ts'
import { resources } from '../../apiserver/resources/index.ts'
import { createMemoryStorage } from '../../apiserver/storage/memory.ts'
import { defaultWorkLimits } from '../../apiserver/work-limits.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { defaultFeatureGates } from '../../shared/config/feature-gates.ts'
import { issueCertificate, type KeyPair, signCertificate } from '../../shared/pki/certificate.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'

const nowMs = Date.now()

t.test('the user of a request', async (t) => {
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
  t.match(await ask(stranger), { name: 'Unauthorized' }, 'the same one again')
  t.match(await ask(pki.admin), { name: 'kubernetes-admin' }, 'one that came before, on another connection')

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

const storage = createMemoryStorage()
await storeBootstrapPolicy(storage, '2026-01-01T00:00:00Z')
const registry = new Registry({
  objects: new ObjectCaches({ catalog: new Catalog(resources), storage }),
  clock: realClock,
  featureGates: defaultFeatureGates,
  limits: defaultWorkLimits,
  random: Math.random,
})
await registry.objects.load()
t.teardown(() => registry.objects.close())
const rules = createRuleResolver(registry.lookup, registry.lookupAll)
const authorizers = [superuser, createRbacAuthorizer(rules)]

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

t.test('health and version for every client, discovery for authenticated ones', async (t) => {
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
