/** Tokens that the real kube-controller-manager writes into Secrets. Upstream: pkg/serviceaccount/legacy.go. */
import t from 'tap'
import { signToken } from '../../apiserver/auth/service-account/json-web-token.ts'
import { readSigningKey } from '../../apiserver/auth/service-account/signing-key.ts'
import type { KubeObject, Secret } from '../../shared/api/types.ts'
import { secrets, serviceAccounts } from '../../shared/client/resources.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'

t.test('a token kept in a Secret authenticates its service account', async (t) => {
  const server = await startTestApiServer(t)
  const { send } = server
  const client = server.client({ name: 'admin', groups: ['system:masters'] })
  const namespace = 'default'
  const tokenPath = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`
  t.match(await send(tokenPath, { method: 'POST', body: {} }), { status: 201 }, 'from now on there is a key')
  const key = readSigningKey(server.serviceAccountKey.kept()!)
  const account = await client.get<KubeObject>(serviceAccounts, { namespace, name: 'default' })
  const prefix = 'kubernetes.io/serviceaccount/'
  const claims = {
    iss: 'kubernetes/serviceaccount',
    sub: `system:serviceaccount:${namespace}:default`,
    [`${prefix}namespace`]: namespace,
    [`${prefix}secret.name`]: 'kept',
    [`${prefix}service-account.name`]: 'default',
    [`${prefix}service-account.uid`]: account.metadata.uid,
  }
  const ref = { namespace, name: 'kept' }
  const token = signToken(key, claims)
  const keep = (value: string) => client.patch(secrets, ref, { data: { token: Buffer.from(value).toString('base64') } })
  const review = async (value: string, audiences?: string[]) => {
    const body = { spec: { token: value, audiences } }
    const answer = await send('/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body })
    return (answer.body as { status: object }).status
  }
  await client.create(secrets, { metadata: { ...ref } })
  await keep(token)

  const user = {
    username: `system:serviceaccount:${namespace}:default`,
    uid: account.metadata.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  }
  t.match(await review(token), { authenticated: true, user })
  const headers = { authorization: `Bearer ${token}` }
  const self = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  t.match(await send(self, { method: 'POST', anonymous: true, headers, body: {} }), { status: 201 })
  t.match(await review(token, ['elsewhere']), { error: /audiences/ }, 'it is for the API alone')
  const label = 'kubernetes.io/legacy-token-last-used'
  const labelled = async () => (await client.get<Secret>(secrets, ref)).metadata.labels?.[label]
  t.match(await until(labelled, { what: 'the date of its last use' }), /^\d{4}-\d\d-\d\d$/)

  const signed = (changes: Record<string, string | undefined>): string => signToken(key, { ...claims, ...changes })
  const refused: Record<string, [token: string, message: RegExp]> = {
    'a subject of another account': [signed({ sub: 'system:serviceaccount:default:other' }), /sub claim is invalid/],
    'no subject': [signed({ sub: undefined }), /sub claim is missing/],
    'no Secret': [signed({ [`${prefix}secret.name`]: undefined }), /secretName claim is missing/],
    'a Secret that is gone': [signed({ [`${prefix}secret.name`]: 'gone' }), /Token has been invalidated/],
    'another UID': [signed({ [`${prefix}service-account.uid`]: 'x' }), /does not match claim \(x\)/],
  }
  for (const [title, [value, message]] of Object.entries(refused)) {
    await keep(value)
    t.match(await review(value), { error: message, authenticated: undefined }, title)
  }
  await keep('another')
  t.match(await review(token), { error: /Token does not match server's copy/ })
  await keep(token)
  await client.patch(secrets, ref, {
    metadata: { labels: { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' } },
  })
  t.match(await review(token), { error: /has been marked invalid/ })
  await client.delete(secrets, ref)
  t.match(await review(token), { error: /Token has been invalidated/ })
})
