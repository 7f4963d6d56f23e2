import t from 'tap'
import { startTestApiServer } from '../harness/api-server.ts'

const token = 'abcdef.0123456789abcdef'
const valid = {
  'token-id': 'abcdef',
  'token-secret': '0123456789abcdef',
  'usage-bootstrap-authentication': 'true',
  expiration: '2999-01-01T00:00:00Z',
  'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
}
const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

t.test('a bootstrap token is authenticated by its Secret', async (t) => {
  const { send } = await startTestApiServer(t)
  await send('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'kube-system' } } })
  const secrets = '/api/v1/namespaces/kube-system/secrets'
  const ask = async (
    stringData: Record<string, string>,
    { bearer = token, type = 'bootstrap.kubernetes.io/token' } = {},
  ): Promise<{ status: number; body: unknown }> => {
    await send(`${secrets}/bootstrap-token-abcdef`, { method: 'DELETE' })
    const metadata = { name: 'bootstrap-token-abcdef' }
    const made = await send(secrets, { method: 'POST', body: { metadata, type, stringData } })
    t.equal(made.status, 201)
    const headers = { authorization: `Bearer ${bearer}` }
    return send(reviews, { method: 'POST', anonymous: true, headers, body: {} })
  }
  const userInfo = {
    username: 'system:bootstrap:abcdef',
    groups: ['system:bootstrappers', 'system:bootstrappers:kubeadm:default-node-token', 'system:authenticated'],
  }
  t.match(await ask(valid), { status: 201, body: { status: { userInfo } } })
  const review = { spec: { token } }
  t.match(await send('/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body: review }), {
    body: { status: { authenticated: true, user: userInfo } },
  })
  const { expiration: _, ...withoutEnd } = valid
  t.match(await ask(withoutEnd), { status: 201 }, 'without an end')
  for (const expiration of ['2999-01-01T00:00:00.5Z', '2999-01-01T00:00:00,5Z', '2999-01-01T0:00:00+01:00'])
    t.match(await ask({ ...valid, expiration }), { status: 201 }, `as Go reads ${expiration}`)
  const refused: Record<string, Parameters<typeof ask>> = {
    'another secret': [valid, { bearer: 'abcdef.fedcba9876543210' }],
    'another id': [valid, { bearer: 'fedcba.0123456789abcdef' }],
    'another type of Secret': [valid, { type: 'Opaque' }],
    expired: [{ ...valid, expiration: '2020-01-01T00:00:00Z' }],
    'an end that is no time': [{ ...valid, expiration: 'tomorrow' }],
    'for signing alone': [{ ...valid, 'usage-bootstrap-authentication': 'false' }],
    'an id that is not the Secret’s': [{ ...valid, 'token-id': 'fedcba' }],
    'an end without a time of day': [{ ...valid, expiration: '2999-01-01' }],
    'an end without a zone': [{ ...valid, expiration: '2999-01-01T00:00:00' }],
    'groups with an empty one': [{ ...valid, 'auth-extra-groups': 'system:bootstrappers:a,' }],
    'groups with a space': [{ ...valid, 'auth-extra-groups': 'system:bootstrappers:a, system:bootstrappers:b' }],
    'a use that is not exactly true': [{ ...valid, 'usage-bootstrap-authentication': 'True' }],
    'an empty secret': [{ ...valid, 'token-secret': '' }],
    'a token with capitals': [valid, { bearer: 'ABCDEF.0123456789abcdef' }],
    'a token that goes on': [valid, { bearer: 'abcdef.0123456789abcdef0' }],
    'groups beyond bootstrappers': [{ ...valid, 'auth-extra-groups': 'system:masters' }],
  }
  for (const [title, args] of Object.entries(refused)) t.match(await ask(...args), { status: 401 }, title)
})

t.test('an API server that is told so accepts no bootstrap tokens', async (t) => {
  const { send } = await startTestApiServer(t, {}, undefined, {}, { bootstrapTokens: false })
  await send('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'kube-system' } } })
  const secret = {
    metadata: { name: 'bootstrap-token-abcdef' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: valid,
  }
  t.match(await send('/api/v1/namespaces/kube-system/secrets', { method: 'POST', body: secret }), { status: 201 })
  const headers = { authorization: `Bearer ${token}` }
  t.match(await send(reviews, { method: 'POST', anonymous: true, headers, body: {} }), { status: 401 })
})
