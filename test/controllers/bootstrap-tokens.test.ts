/** Machines join by a bootstrap token: cluster-info tells them where, the token signs it, and rights are bound to the token's group. */
import { createHmac } from 'node:crypto'
import { request } from 'node:https'
import t from 'tap'
import { ensureClusterInfo } from '../../controllers/bootstrap-tokens/cluster-info.ts'
import { ensureJoinPolicy } from '../../controllers/bootstrap-tokens/join-policy.ts'
import { signedData } from '../../controllers/bootstrap-tokens/signature.ts'
import type { BootstrapTokenSecret } from '../../shared/api/bootstrap-token.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { ConfigMap, Secret } from '../../shared/api/types.ts'
import { certificateSigningRequests, configMaps, secrets } from '../../shared/client/resources.ts'
import { detachedSignature } from '../../shared/pki/detached-signature.ts'
import { createSigningRequest } from '../../shared/pki/signing-request.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

interface SigningRequest {
  metadata: object
  status?: { certificate?: string; conditions?: object[] }
}

t.test('a detached signature is the one of k8s.io/cluster-bootstrap', async (t) => {
  const content = 'Hello from the other side. I must have called a thousand times.'
  t.equal(
    detachedSignature(content, { id: 'joshua', secret: 'my voice is my passcode' }),
    'eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8',
  )
})

const base64 = (data: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]))
const now = Date.parse('2026-01-01T00:00:00Z')
const tokenData = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true' }

t.test('which tokens sign', async (t) => {
  const signs = (data: Record<string, string>, name = 'bootstrap-token-abcdef'): boolean => {
    const secret: BootstrapTokenSecret = { metadata: { name }, data: base64(data) }
    const signed = signedData({ kubeconfig: 'x', 'jws-kubeconfig-old': 'gone', other: 'kept' }, [secret], now)
    t.notOk(signed?.['jws-kubeconfig-old'], 'a signature without a token')
    t.equal(signed?.other, 'kept')
    return Object.keys(signed ?? {}).some((key) => key.startsWith('jws-kubeconfig-'))
  }
  t.ok(signs(tokenData))
  t.ok(signs({ ...tokenData, expiration: '2026-01-01T00:00:01Z' }))
  t.ok(signs({ ...tokenData, expiration: '2026-01-01T02:00:00+01:00' }))
  const refused: Record<string, Parameters<typeof signs>> = {
    expired: [{ ...tokenData, expiration: '2026-01-01T00:00:00Z' }],
    'expired in its zone': [{ ...tokenData, expiration: '2026-01-01T01:00:00+02:00' }],
    'an expiration that is no time': [{ ...tokenData, expiration: '2999' }],
    'not for signing': [{ ...tokenData, 'usage-bootstrap-signing': 'yes' }],
    'an id that is not the name’s': [{ ...tokenData, 'token-id': 'fedcba' }],
    'no secret': [{ ...tokenData, 'token-secret': '' }],
    'another name': [tokenData, 'bootstrap-token-abcdefg'],
  }
  for (const [title, args] of Object.entries(refused)) t.notOk(signs(...args), title)
  t.equal(signedData({ other: 'x' }, [], now), undefined, 'without a kubeconfig there is nothing to sign')
})

t.test('a cluster with loops', async (t) => {
  const plane = await startTestControlPlane(t)
  const { client } = plane
  const namespace = 'kube-system'
  const bindings = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterrolebindings' }
  const info = { namespace: 'kube-public', name: 'cluster-info' }
  const dataOf = async () => (await client.get<ConfigMap>(configMaps, info)).data ?? {}
  const ask = (path: string, { token = '', body = '' } = {}): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        ...(token && { authorization: `Bearer ${token}` }),
      }
      const options = { ca: plane.tls.ca, headers, method: body ? 'POST' : 'GET', agent: false as const }
      request(`${plane.url}${path}`, options, async (response) => {
        let text = ''
        for await (const chunk of response) text += chunk
        resolve({ status: response.statusCode ?? 0, text })
      })
        .on('error', reject)
        .end(body)
    })
  const token = (id: string, data: Record<string, string> = {}): Promise<Secret> =>
    client.create<Secret>(secrets, {
      metadata: { namespace, name: `bootstrap-token-${id}` },
      type: 'bootstrap.kubernetes.io/token',
      data: base64({ 'token-id': id, 'token-secret': '0123456789abcdef', ...data }),
    })
  const kubeletRequest = (name: string): string =>
    JSON.stringify({
      metadata: { name },
      spec: {
        request: Buffer.from(
          createSigningRequest({ commonName: 'system:node:new', organizations: ['system:nodes'] }).request,
        ).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['digital signature', 'client auth'],
      },
    })
  const signingRequests = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

  await t.test('anyone reads cluster-info, and nothing beside it', async (t) => {
    const { status, text } = await ask('/api/v1/namespaces/kube-public/configmaps/cluster-info')
    t.equal(status, 200)
    const { kubeconfig } = JSON.parse(text).data
    t.match(kubeconfig, `server: ${plane.url}\n`)
    const [, ca = ''] = /certificate-authority-data: (\S+)/.exec(kubeconfig) ?? []
    t.equal(Buffer.from(ca, 'base64').toString(), plane.tls.ca)
    t.match(kubeconfig, 'users: null')
    for (const path of ['/api/v1/namespaces/kube-public/configmaps', '/api/v1/namespaces/kube-system/secrets'])
      t.equal((await ask(path)).status, 403, path)
  })

  await t.test('a token signs it, until the token goes', async (t) => {
    await token('signer', { 'usage-bootstrap-signing': 'true' })
    const key = 'jws-kubeconfig-signer'
    await until(async () => (await dataOf())[key], { what: 'a signature' })
    const data = await dataOf()
    const [header = '', , signature] = data[key]!.split('.')
    t.same(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'HS256', kid: 'signer' })
    const payload = Buffer.from(data.kubeconfig!).toString('base64url')
    t.equal(createHmac('sha256', '0123456789abcdef').update(`${header}.${payload}`).digest('base64url'), signature)
    await client.patch(configMaps, info, { data: { kubeconfig: 'another' } })
    await until(async () => (await dataOf())[key] !== data[key], { what: 'a signature of what changed' })
    await client.delete(secrets, { namespace, name: 'bootstrap-token-signer' })
    await until(async () => !(await dataOf())[key], { what: 'the signature to go' })
  })

  await t.test('a token of kubeadm’s group gets a kubelet’s certificate, another may not ask', async (t) => {
    await token('joiner', {
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
    })
    const body = kubeletRequest('first')
    t.match(await ask(signingRequests, { token: 'joiner.0123456789abcdef', body }), { status: 201 })
    await until(
      async () => {
        return (await client.get<SigningRequest>(certificateSigningRequests, { name: 'first' })).status?.certificate
      },
      { what: 'a certificate' },
    )
    await token('lonely', { 'usage-bootstrap-authentication': 'true' })
    const lonely = { token: 'lonely.0123456789abcdef', body: kubeletRequest('second') }
    t.equal((await ask(signingRequests, lonely)).status, 403, 'no group, no right')
  })

  await t.test('approval asks for the requestor’s rights, not for its group', async (t) => {
    await client.delete(bindings, { name: 'kubeadm:node-autoapprove-bootstrap' })
    const body = kubeletRequest('unapproved')
    t.match(await ask(signingRequests, { token: 'joiner.0123456789abcdef', body }), { status: 201 })
    // The loop takes one request after the other; the client of this test may create everything.
    await client.create(certificateSigningRequests, JSON.parse(kubeletRequest('approved')))
    const conditions = async (name: string) =>
      (await client.get<SigningRequest>(certificateSigningRequests, { name })).status?.conditions
    await until(() => conditions('approved'), { what: 'an approval of the administrator’s request' })
    t.equal(await conditions('unapproved'), undefined)
  })

  await t.test('the next start writes where the server is then, and keeps what an administrator changed', async (t) => {
    await token('mover1', { 'usage-bootstrap-signing': 'true' })
    const key = 'jws-kubeconfig-mover1'
    const before = await until(async () => (await dataOf())[key], { what: 'a signature' })
    const binding = { name: 'kubeadm:kubelet-bootstrap' }
    await client.patch(bindings, binding, { subjects: [] })
    await ensureClusterInfo(client, { url: 'https://192.0.2.1:6443', ca: plane.tls.ca })
    await ensureJoinPolicy(client)
    t.match((await dataOf()).kubeconfig, 'server: https://192.0.2.1:6443\n')
    await until(async () => (await dataOf())[key] !== before, { what: 'a signature of the new address' })
    t.notOk((await client.get<{ metadata: object; subjects?: object[] }>(bindings, binding)).subjects?.length)
    const other = { name: 'kubeadm:node-autoapprove-bootstrap' }
    t.match(await client.get(bindings, other), { subjects: [{ kind: 'Group' }] }, 'a deleted one is back')
  })

  await t.test('an expired token is deleted, one without an end stays', async (t) => {
    const soon = new Date(Date.now() + 1500).toISOString()
    await token('endure')
    await token('broken', { expiration: 'tomorrow' })
    await token('expire', { expiration: soon })
    const isGone = (id: string) =>
      client.get(secrets, { namespace, name: `bootstrap-token-${id}` }).then(
        () => false,
        (error) => isStatus(error, 'NotFound'),
      )
    await until(() => isGone('broken'), { what: 'the token with an unreadable end to go' })
    t.notOk(await isGone('expire'), 'not before its end')
    await until(() => isGone('expire'), { what: 'the expired token to go' })
    t.notOk(await isGone('endure'))
  })

  await t.test('what the API server says of itself comes back', async (t) => {
    const read = async (name: string) => (await client.get<ConfigMap>(configMaps, { namespace, name })).data
    const authentication = 'extension-apiserver-authentication'
    const tracking = 'kube-apiserver-legacy-service-account-token-tracking'
    t.match(await read(authentication), { 'client-ca-file': plane.tls.ca })
    t.match(await read(tracking), { since: /^\d{4}-\d\d-\d\d$/ })
    await client.delete(configMaps, { namespace, name: authentication })
    await until(() => read(authentication).catch(() => undefined), { what: 'the deleted one to come back' })
    await client.patch(configMaps, { namespace, name: tracking }, { data: { since: 'ever' } })
    await until(async () => (await read(tracking))?.since !== 'ever', { what: 'a date again' })
    await client.patch(configMaps, { namespace, name: authentication }, { data: { 'client-ca-file': 'x', more: 'y' } })
    await until(async () => (await read(authentication))?.['client-ca-file'] === plane.tls.ca, { what: 'the CA again' })
    t.equal((await read(authentication))?.more, 'y', 'what others say stays')
  })
})

t.test('an API server without loops says of itself what the real one does, and has nothing of kubeadm’s', async (t) => {
  const { client } = await startTestControlPlane(t, { controllers: false })
  const { items } = await client.list<ConfigMap>(configMaps, {})
  t.same(items.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`).sort(), [
    'kube-system/extension-apiserver-authentication',
    'kube-system/kube-apiserver-legacy-service-account-token-tracking',
  ])
})
