import { request } from 'node:https'
import t from 'tap'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Secret, ServiceAccount } from '../../shared/api/types.ts'
import { secrets, serviceAccounts } from '../../shared/client/resources.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const { client, url } = await startTestControlPlane(t)

const namespace = 'default'
const decoded = (text = ''): string => Buffer.from(text, 'base64').toString('utf8')
const find = (name: string): Promise<Secret | undefined> =>
  client.get<Secret>(secrets, { namespace, name }).catch((error: unknown) => {
    if (isStatus(error, 'NotFound')) return undefined
    throw error
  })
const ask = (name: string, account: string): Promise<Secret> =>
  client.create<Secret>(secrets, {
    metadata: { name, namespace, annotations: { 'kubernetes.io/service-account.name': account } },
    type: 'kubernetes.io/service-account-token',
  })
const filled = (name: string): Promise<Secret> =>
  until(
    async () => {
      const secret = await find(name)
      return secret?.data?.token ? secret : undefined
    },
    { what: `the token of ${name}` },
  )
const gone = (name: string): Promise<boolean> => until(async () => !(await find(name)), { what: `the end of ${name}` })

/** The user of a token by the server; undefined if it is refused. */
function bearer(token: string, ca: string): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const review = `${url}/apis/authentication.k8s.io/v1/selfsubjectreviews`
    const asked = request(review, { method: 'POST', agent: false, ca, headers }, async (response) => {
      const answer = JSON.parse(Buffer.concat(await response.toArray()).toString('utf8'))
      resolve(response.statusCode === 201 ? answer.status.userInfo.username : undefined)
    })
    asked.on('error', reject)
    asked.end('{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}')
  })
}

t.test('a Secret that asks for a token gets one that ends with it', async (t) => {
  const account = await client.create<ServiceAccount>(serviceAccounts, { metadata: { name: 'robot', namespace } })
  await ask('first', 'robot')
  const { metadata, data } = await filled('first')
  t.equal(metadata.annotations?.['kubernetes.io/service-account.uid'], account.metadata.uid)
  t.equal(decoded(data?.namespace), namespace)
  const ca = decoded(data?.['ca.crt'])
  t.match(ca, /^-----BEGIN CERTIFICATE-----/)
  const token = decoded(data?.token)
  t.equal(await bearer(token, ca), `system:serviceaccount:${namespace}:robot`)

  await client.patch(secrets, { namespace, name: 'first' }, { data: { 'ca.crt': 'eA==' } })
  await until(async () => decoded((await find('first'))?.data?.['ca.crt']) === ca, { what: 'the certificate' })
  t.equal(decoded((await find('first'))?.data?.token), token, 'the token stays what it was')

  await client.delete(secrets, { namespace, name: 'first' })
  t.equal(await bearer(token, ca), undefined)
})

t.test('a Secret goes with its account', async (t) => {
  await ask('second', 'robot')
  await filled('second')
  await client.delete(serviceAccounts, { namespace, name: 'robot' })
  t.ok(await gone('second'))
  await ask('third', 'nobody')
  t.ok(await gone('third'), 'or at once, where there is none')
})

t.test('another account of the same name does not inherit it', async (t) => {
  await client.create<ServiceAccount>(serviceAccounts, { metadata: { name: 'robot', namespace } })
  const annotations = { 'kubernetes.io/service-account.name': 'robot', 'kubernetes.io/service-account.uid': 'another' }
  const metadata = { name: 'fourth', namespace, annotations }
  await client.create<Secret>(secrets, { metadata, type: 'kubernetes.io/service-account-token' })
  t.ok(await gone('fourth'))
})
