import t, { type Test } from 'tap'
import type { KubeObject, Status } from '../../../shared/api/types.ts'
import { type Received, startTestApiServer } from '../../harness/api-server.ts'
import {
  type Answer,
  admitted,
  denied,
  patched,
  startWebhookServer,
  testAuthority,
} from '../../harness/webhook-server.ts'

const server = await startTestApiServer(t)
const hooks = await startWebhookServer(t)
const registration = '/apis/admissionregistration.k8s.io/v1'
const core = '/api/v1/namespaces/default'
const message = ({ body }: Received): string => (body as Status).message ?? ''
const post = (path: string, body: object): Promise<Received> => server.send(path, { method: 'POST', body })
const merge = (path: string, body: object): Promise<Received> =>
  server.send(path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })
const remove = (path: string, body: object = {}): Promise<Received> => server.send(path, { method: 'DELETE', body })
const configMap = (name: string, more: object = {}) => ({ metadata: { name, ...more }, data: { a: '1' } })

const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }
const webhook = (name: string, more: object = {}) => ({
  name: `${name}.example.com`,
  clientConfig: hooks.clientConfig(`/${name}`),
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  rules: [rule],
  ...more,
})

/** In force until the test ends; resolves to the request of each review that came. */
async function install(
  t: Test,
  type: 'mutating' | 'validating',
  webhooks: { name: string; answer?: Answer; more?: object }[],
): Promise<void> {
  const path = `${registration}/${type}webhookconfigurations`
  for (const { name, answer = (review: Record<string, unknown>) => admitted(review) } of webhooks) {
    hooks.answers.set(`/${name}`, answer)
    hooks.reviews.delete(`/${name}`)
  }
  const name = `${webhooks[0]?.name}`
  const made = await post(path, { metadata: { name }, webhooks: webhooks.map(({ name, more }) => webhook(name, more)) })
  if (made.status !== 201) throw new Error(message(made))
  t.teardown(() => remove(`${path}/${name}`))
}

interface ReviewRequest extends Record<string, unknown> {
  object: KubeObject | null
  oldObject: KubeObject | null
}
const requests = (name: string): ReviewRequest[] =>
  (hooks.reviews.get(`/${name}`) ?? []).map(({ request }) => request as ReviewRequest)

t.test('a validating webhook is told of a write, and may refuse it', async (t) => {
  await install(t, 'validating', [
    {
      name: 'check',
      answer: (review) =>
        (review.request as ReviewRequest).object?.metadata.name === 'bad'
          ? denied(review, { message: 'not this one', code: 403, reason: 'Forbidden' })
          : admitted(review, { warnings: ['look out'] }),
    },
  ])
  const made = await post(`${core}/configmaps?fieldManager=me&fieldValidation=Strict`, configMap('good'))
  t.equal(made.status, 201)
  t.equal(made.headers.warning, '299 - "look out"')
  const [request] = requests('check')
  t.match(request, {
    uid: /^[-0-9a-f]{36}$/,
    kind: { group: '', version: 'v1', kind: 'ConfigMap' },
    resource: { group: '', version: 'v1', resource: 'configmaps' },
    requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
    requestResource: { group: '', version: 'v1', resource: 'configmaps' },
    name: 'good',
    namespace: 'default',
    operation: 'CREATE',
    userInfo: { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] },
    object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'good', uid: String }, data: { a: '1' } },
    oldObject: null,
    dryRun: false,
    options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me', fieldValidation: 'Strict' },
  })
  t.notOk(request && 'subResource' in request)
  const refused = await post(`${core}/configmaps`, configMap('bad'))
  t.match(refused, {
    status: 403,
    body: { reason: 'Forbidden', message: 'admission webhook "check.example.com" denied the request: not this one' },
  })
  await merge(`${core}/configmaps/good`, { data: { b: '2' } })
  t.match(requests('check').at(-1), {
    operation: 'UPDATE',
    object: { data: { a: '1', b: '2' } },
    oldObject: { data: { a: '1' } },
    options: { kind: 'UpdateOptions' },
  })
  await remove(`${core}/configmaps/good`, { propagationPolicy: 'Background' })
  t.match(requests('check').at(-1), {
    operation: 'DELETE',
    name: 'good',
    object: null,
    oldObject: { kind: 'ConfigMap', data: { a: '1', b: '2' } },
    options: { kind: 'DeleteOptions', propagationPolicy: 'Background' },
  })
})

t.test('a mutating webhook changes what is stored', async (t) => {
  await install(t, 'mutating', [
    {
      name: 'first',
      answer: (review) => patched(review, { op: 'add', path: '/metadata/labels', value: { by: 'first' } }),
    },
    { name: 'second', answer: (review) => patched(review, { op: 'add', path: '/data/b', value: '2' }) },
  ])
  const made = await post(`${core}/configmaps`, configMap('changed'))
  t.match(made, { status: 201, body: { metadata: { labels: { by: 'first' } }, data: { a: '1', b: '2' } } })
  t.match(requests('second')[0]?.object?.metadata.labels, { by: 'first' }, 'who comes later sees it')
  t.match((await server.send(`${core}/configmaps/changed`)).body, { data: { b: '2' } })
})

t.test('what comes of calls that fail', async (t) => {
  const cases: [name: string, answer: Answer | undefined, more: object, why: RegExp][] = [
    [
      'text',
      () => 'hello',
      {},
      /failed to call webhook: couldn't get version\/kind; json parse error: invalid character 'h' looking for beginning of value$/,
    ],
    ['typeless', () => ({}), {}, /failed to call webhook: Object 'Kind' is missing in '\{\}'$/],
    [
      'empty',
      ({ apiVersion, kind }) => ({ apiVersion, kind }),
      {},
      /received invalid webhook response: webhook response was absent$/,
    ],
    [
      'other-uid',
      (review) => admitted(review, { uid: 'x' }),
      {},
      /received invalid webhook response: expected response.uid="[-0-9a-f]{36}", got "x"$/,
    ],
    [
      'other-kind',
      (review) => ({ ...admitted(review), kind: 'Review' }),
      {},
      /received invalid webhook response: expected webhook response of admission.k8s.io\/v1, Kind=AdmissionReview, got admission.k8s.io\/v1, Kind=Review$/,
    ],
    [
      'patches',
      (review) => patched(review),
      {},
      /received invalid webhook response: validating webhook may not return response.patch$/,
    ],
    [
      'error',
      (_, __, response) => {
        response.statusCode = 500
        return 'oh no'
      },
      {},
      /failed to call webhook: an error on the server \("oh no"\) has prevented the request from succeeding$/,
    ],
    [
      'missing',
      (_, __, response) => {
        response.statusCode = 404
        return ''
      },
      {},
      /failed to call webhook: the server could not find the requested resource$/,
    ],
    [
      'hangs-up',
      (_, request) => {
        request.socket.destroy()
        return undefined
      },
      {},
      /failed to call webhook: Post "https:\/\/127.0.0.1:\d+\/hangs-up\?timeout=10s": EOF$/,
    ],
    [
      'slow',
      () => undefined,
      { timeoutSeconds: 1 },
      /failed to call webhook: Post "https:\/\/127.0.0.1:\d+\/slow\?timeout=1s": context deadline exceeded$/,
    ],
    [
      'stranger',
      undefined,
      {
        clientConfig: {
          ...hooks.clientConfig('/stranger'),
          caBundle: Buffer.from(testAuthority().cert).toString('base64'),
        },
      },
      /tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
    ],
    [
      'down',
      undefined,
      { clientConfig: { url: 'https://127.0.0.1:1/x', caBundle: hooks.caBundle } },
      /failed to call webhook: Post "https:\/\/127.0.0.1:1\/x\?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused$/,
    ],
    [
      'no-service',
      undefined,
      { clientConfig: { service: { namespace: 'default', name: 'none', path: '/x' } } },
      /Post "https:\/\/none.default.svc:443\/x\?timeout=10s": service "none" not found$/,
    ],
    [
      'stranger-name',
      undefined,
      { clientConfig: { url: `https://localhost:${hooks.port}/x`, caBundle: hooks.caBundle } },
      /x509: certificate is not valid for any names, but wanted to match localhost$/,
    ],
  ]
  for (const [name, answer, more, why] of cases) {
    await t.test(name, async (t) => {
      await install(t, 'validating', [{ name, answer, more }])
      const refused = await post(`${core}/configmaps?dryRun=All`, configMap('x'))
      t.match(refused, { status: 500, body: { reason: 'InternalError' } })
      t.match(message(refused), `Internal error occurred: failed calling webhook "${name}.example.com": `)
      t.match(message(refused), why)
    })
  }
  await t.test('ignored', async (t) => {
    await install(t, 'validating', [{ name: 'garbled', answer: () => 'x', more: { failurePolicy: 'Ignore' } }])
    t.equal((await post(`${core}/configmaps?dryRun=All`, configMap('x'))).status, 201)
    t.equal(requests('garbled').length, 1)
  })
})
