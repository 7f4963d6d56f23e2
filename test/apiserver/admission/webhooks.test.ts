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
    [
      'endless',
      () => ' '.repeat(5 * 1024 * 1024),
      {},
      /failed to call webhook: Post ".*": http: response body too large$/,
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

t.test('the objects that a webhook is called for', async (t) => {
  await post('/api/v1/namespaces', { metadata: { name: 'marked', labels: { checked: 'yes' } } })
  const cases: [name: string, more: object, asked: string[]][] = [
    ['by-namespace', { namespaceSelector: { matchLabels: { checked: 'yes' } } }, ['marked/plain', 'marked/red']],
    ['by-object', { objectSelector: { matchLabels: { color: 'red' } } }, ['default/red', 'marked/red']],
    [
      'by-condition',
      { matchConditions: [{ name: 'red', expression: "object.metadata.?labels.color.orValue('') == 'red'" }] },
      ['default/red', 'marked/red'],
    ],
    [
      'by-user',
      { matchConditions: [{ name: 'others', expression: "request.userInfo.username != 'kubernetes-admin'" }] },
      [],
    ],
    ['by-operation', { rules: [{ ...rule, operations: ['DELETE'] }] }, []],
    ['by-scope', { rules: [{ ...rule, scope: 'Cluster' }] }, []],
    [
      'all-resources',
      { rules: [{ ...rule, apiGroups: ['*'], resources: ['*/*'] }] },
      ['default/plain', 'default/red', 'marked/plain', 'marked/red'],
    ],
  ]
  for (const [name, more, asked] of cases) {
    await t.test(name, async (t) => {
      await install(t, 'validating', [{ name, more }])
      for (const namespace of ['default', 'marked']) {
        for (const object of [configMap('plain'), configMap('red', { labels: { color: 'red' } })]) {
          const { status } = await post(`/api/v1/namespaces/${namespace}/configmaps?dryRun=All`, object)
          t.equal(status, 201)
        }
      }
      t.same(
        requests(name).map(({ namespace, name }) => `${namespace}/${name}`),
        asked,
      )
    })
  }
  await t.test('a condition that fails', async (t) => {
    const failing = { matchConditions: [{ name: 'fails', expression: "object.data.none == 'x'" }] }
    await install(t, 'validating', [{ name: 'failing', more: failing }])
    const refused = await post(`${core}/configmaps?dryRun=All`, configMap('x'))
    t.equal(
      message(refused),
      `configmaps "x" is forbidden: expression 'object.data.none == 'x'' resulted in error: no such key: none`,
    )
  })
})

t.test('a rule of another version of the resource counts, unless it must be exact', async (t) => {
  const scaler = (matchPolicy: string) => ({
    matchPolicy,
    rules: [{ ...rule, apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'] }],
  })
  await install(t, 'mutating', [
    {
      name: 'equivalent',
      more: scaler('Equivalent'),
      answer: (review) => patched(review, { op: 'add', path: '/spec/targetCPUUtilizationPercentage', value: 66 }),
    },
    { name: 'exact', more: scaler('Exact') },
  ])
  const made = await post('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers', {
    metadata: { name: 'h' },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, maxReplicas: 3 },
  })
  t.match(requests('equivalent')[0], {
    kind: { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' },
    requestKind: { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' },
    object: { apiVersion: 'autoscaling/v1', spec: { maxReplicas: 3 } },
  })
  t.match(made.body, {
    spec: { metrics: [{ resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 66 } } }] },
  })
  t.equal(requests('exact').length, 0)
})

t.test('a webhook that was called before a change is called again, if it wants to be', async (t) => {
  await install(t, 'mutating', [
    { name: 'willing', more: { reinvocationPolicy: 'IfNeeded' } },
    { name: 'once' },
    { name: 'changer', answer: (review) => patched(review, { op: 'add', path: '/data/b', value: '2' }) },
  ])
  t.equal((await post(`${core}/configmaps?dryRun=All`, configMap('x'))).status, 201)
  t.same(
    requests('willing').map(({ object }) => object?.data),
    [{ a: '1' }, { a: '1', b: '2' }],
  )
  t.equal(requests('once').length, 1)
})

t.test('mutating policies act before webhooks, and again after their changes', async (t) => {
  const policies = `${registration}/mutatingadmissionpolicies`
  const bindings = `${registration}/mutatingadmissionpolicybindings`
  const make = async (name: string, reinvocationPolicy: string, expression: string): Promise<void> => {
    const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }]
    const constraints = { resourceRules: [{ ...rule, operations: ['CREATE'] }] }
    await post(policies, {
      metadata: { name },
      spec: { matchConstraints: constraints, reinvocationPolicy, mutations },
    })
    await post(bindings, { metadata: { name }, spec: { policyName: name } })
    t.teardown(async () => {
      await remove(`${policies}/${name}`)
      await remove(`${bindings}/${name}`)
    })
  }
  const count = (key: string) => `Object{data: {"${key}": string(object.data.?${key}.orValue("")) + "1"}}`
  await make('once', 'Never', count('once'))
  await make('willing', 'IfNeeded', count('willing'))
  await install(t, 'mutating', [
    { name: 'changer', answer: (review) => patched(review, { op: 'add', path: '/data/b', value: '2' }) },
    { name: 'asked-again', more: { reinvocationPolicy: 'IfNeeded' } },
  ])
  const { status, body } = await post(`${core}/configmaps?dryRun=All`, configMap('x'))
  t.equal(status, 201)
  t.strictSame((body as { data: unknown }).data, { a: '1', once: '1', willing: '11', b: '2' })
  t.same(
    requests('changer').map(({ object }) => object?.data),
    [{ a: '1', once: '1', willing: '1' }],
    'the webhook sees what policies have changed',
  )
  t.equal(requests('asked-again').length, 2, 'the policy changed the object after the webhook was called')
})

t.test('match conditions ask the authorizer', async (t) => {
  const condition = (verb: string) => ({
    matchConditions: [{ name: 'a', expression: `authorizer.requestResource.check('${verb}').allowed()` }],
  })
  await install(t, 'validating', [
    { name: 'may', more: condition('create') },
    {
      name: 'may-not',
      more: { matchConditions: [{ name: 'a', expression: "!authorizer.path('/x').check('get').allowed()" }] },
    },
  ])
  t.equal((await post(`${core}/configmaps?dryRun=All`, configMap('x'))).status, 201)
  t.equal(requests('may').length, 1)
  t.equal(requests('may-not').length, 0)
})

t.test('a dry run calls only webhooks without side effects', async (t) => {
  await install(t, 'validating', [{ name: 'quiet', more: { sideEffects: 'NoneOnDryRun' } }])
  await post(`${core}/configmaps?dryRun=All`, configMap('x'))
  t.match(requests('quiet')[0], { dryRun: true, options: { dryRun: ['All'] } })
})

t.test('patches that do not fit', async (t) => {
  const cases: [name: string, operations: object[], why: string][] = [
    [
      'missing-path',
      [{ op: 'add', path: '/metadata/labels/a', value: 'b' }],
      'add operation does not apply: doc is missing path: "/metadata/labels/a": missing value',
    ],
    [
      'missing-key',
      [{ op: 'remove', path: '/data/z' }],
      "error in remove for path: '/data/z': Unable to remove nonexistent key: z: missing value",
    ],
    ['unknown', [{ op: 'turn', path: '/data/z' }], 'Unexpected kind: turn'],
    [
      'wrong-type',
      [{ op: 'add', path: '/data', value: 1 }],
      'json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string',
    ],
  ]
  for (const [name, operations, why] of cases) {
    await t.test(name, async (t) => {
      await install(t, 'mutating', [{ name, answer: (review) => patched(review, ...operations) }])
      t.match(message(await post(`${core}/configmaps?dryRun=All`, configMap('x'))), `Internal error occurred: ${why}`)
    })
  }
  await t.test('what is deleted cannot be changed', async (t) => {
    await post(`${core}/configmaps`, configMap('gone'))
    await install(t, 'mutating', [
      { name: 'late', answer: (review) => patched(review, { op: 'add', path: '/data', value: {} }) },
    ])
    t.match(
      message(await remove(`${core}/configmaps/gone`)),
      'attempted to modify the object, which is not supported for this operation',
    )
  })
  await t.test('what the server has set stays', async (t) => {
    const operations = [{ op: 'replace', path: '/metadata', value: { name: 'x' } }]
    await install(t, 'mutating', [{ name: 'wipes', answer: (review) => patched(review, ...operations) }])
    const made = await post(`${core}/configmaps?dryRun=All`, configMap('x'))
    t.match(made, { status: 201, body: { metadata: { name: 'x', uid: /./, creationTimestamp: /Z$/ } } })
  })
  await t.test('what a patch makes of it is validated', async (t) => {
    await install(t, 'mutating', [
      { name: 'spoils', answer: (review) => patched(review, { op: 'add', path: '/data', value: { 'no key!': 'x' } }) },
    ])
    t.match(await post(`${core}/configmaps?dryRun=All`, configMap('x')), { status: 422, body: { reason: 'Invalid' } })
  })
})

t.test('subresources', async (t) => {
  const everything = { rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }] }
  const pod = {
    metadata: { name: 'p' },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
  }
  await post(`${core}/pods`, pod)
  const template = { metadata: { labels: { a: 'b' } }, spec: pod.spec }
  await post('/apis/apps/v1/namespaces/default/deployments', {
    metadata: { name: 'd' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  })
  await install(t, 'mutating', [
    {
      name: 'sees',
      more: everything,
      answer: (review) =>
        (review.request as ReviewRequest).subResource === 'scale'
          ? patched(review, { op: 'replace', path: '/spec/replicas', value: 4 })
          : admitted(review),
    },
  ])
  const last = () => requests('sees').at(-1)
  const scaled = await merge('/apis/apps/v1/namespaces/default/deployments/d/scale', { spec: { replicas: 2 } })
  t.match(last(), {
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    resource: { group: 'apps', resource: 'deployments' },
    subResource: 'scale',
    operation: 'UPDATE',
    object: { kind: 'Scale', spec: { replicas: 2 } },
    oldObject: { spec: { replicas: 1 } },
  })
  t.match(scaled.body, { spec: { replicas: 4 } })
  await post(`${core}/pods/p/binding`, { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } })
  t.match(last(), {
    kind: { kind: 'Binding' },
    subResource: 'binding',
    operation: 'CREATE',
    object: { target: { name: 'n' } },
  })
  await merge(`${core}/pods/p/status`, { status: { message: 'hi' } })
  t.match(last(), {
    kind: { kind: 'Pod' },
    subResource: 'status',
    operation: 'UPDATE',
    object: { status: { message: 'hi' } },
  })
  await server.send(`${core}/pods/p/exec?command=ls&container=c&stdin=true`)
  t.match(last(), {
    kind: { kind: 'PodExecOptions' },
    operation: 'CONNECT',
    object: { kind: 'PodExecOptions', stdin: true, stdout: true, container: 'c', command: ['ls'] },
    oldObject: null,
    options: null,
  })
  await post(`${core}/serviceaccounts/default/token`, { spec: { audiences: ['x'] } })
  t.match(last(), {
    kind: { group: 'authentication.k8s.io', kind: 'TokenRequest' },
    object: { spec: { audiences: ['x'] } },
  })
  const before = requests('sees').length
  await post(`${core}/pods/p/eviction`, { metadata: { name: 'p' } })
  t.match(last(), {
    kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
    subResource: 'eviction',
    operation: 'CREATE',
  })
  t.equal(requests('sees').length, before + 1, 'the deletion that follows is a part of it')
  const configurations = `${registration}/mutatingwebhookconfigurations`
  await merge(`${configurations}/sees`, { metadata: { labels: { a: 'b' } } })
  t.equal(requests('sees').length, before + 1, 'nobody is asked about webhooks themselves')
  for (const name of ['x', 'y']) await post(`${core}/configmaps`, configMap(name, { labels: { all: 'go' } }))
  await remove(`${core}/configmaps?labelSelector=all=go`)
  t.match(requests('sees').slice(-2), [
    { operation: 'DELETE', name: 'x' },
    { operation: 'DELETE', name: 'y' },
  ])
})

t.test("the server's own rules are asked again about what a webhook changed, and do nothing twice", async (t) => {
  const sidecar = { name: 'sidecar', image: 'i' }
  await post(`${core}/limitranges`, {
    metadata: { name: 'l' },
    spec: { limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '1' } }] },
  })
  await install(t, 'mutating', [
    {
      name: 'injects',
      more: { rules: [{ ...rule, resources: ['pods'] }] },
      answer: (review) => patched(review, { op: 'add', path: '/spec/containers/-', value: sidecar }),
    },
  ])
  const spec = { containers: [{ name: 'c', image: 'i' }], priorityClassName: 'system-node-critical' }
  const made = await post(`${core}/pods?dryRun=All`, { metadata: { name: 'injected' }, spec })
  t.equal(made.status, 201, message(made))
  const pod = made.body as {
    spec: { containers: Record<string, unknown>[]; volumes: unknown[]; tolerations: unknown[] }
  }
  t.equal(pod.spec.volumes.length, 1)
  t.equal(pod.spec.tolerations.length, 2)
  t.match(pod.spec.containers, [
    { name: 'c', resources: { limits: { cpu: '1' } } },
    { name: 'sidecar', resources: { limits: { cpu: '1' } }, imagePullPolicy: 'Always' },
  ])
  for (const { volumeMounts } of pod.spec.containers) t.equal((volumeMounts as unknown[] | undefined)?.length, 1)
  await remove(`${core}/limitranges/l`)
})

t.test('a certificate must name the host, and not as its common name', async (t) => {
  const cases: [altNames: string[], host: string, why: string][] = [
    [[], 'localhost', 'x509: certificate relies on legacy Common Name field, use SANs instead'],
    [[], '127.0.0.1', "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"],
    [['other.example.com'], 'localhost', 'x509: certificate is valid for other.example.com, not localhost'],
    [['127.0.0.3'], '127.0.0.1', 'x509: certificate is valid for 127.0.0.3, not 127.0.0.1'],
  ]
  for (const [index, [altNames, host, why]] of cases.entries()) {
    await t.test(why, async (t) => {
      const named = await startWebhookServer(t, { altNames, commonName: host })
      const clientConfig = { url: `https://${host}:${named.port}/x`, caBundle: named.caBundle }
      await install(t, 'validating', [{ name: `named-${index}`, more: { clientConfig } }])
      t.match(message(await post(`${core}/configmaps?dryRun=All`, configMap('x'))), why)
    })
  }
})

t.test('a webhook behind a service', async (t) => {
  const behind = await startWebhookServer(t, { altNames: ['hook.default.svc'], host: '127.99.0.2' })
  behind.answers.set('/path', (review) => admitted(review))
  await post(`${core}/services`, {
    metadata: { name: 'hook' },
    spec: { ports: [{ port: 443, targetPort: behind.port }] },
  })
  const service = { namespace: 'default', name: 'hook', path: '/path' }
  const clientConfig = { service, caBundle: behind.caBundle }
  await install(t, 'validating', [{ name: 'behind', more: { clientConfig } }])
  const why = (text: string) => `Post "https://hook.default.svc:443/path?timeout=10s": ${text}`
  t.match(
    message(await post(`${core}/configmaps?dryRun=All`, configMap('x'))),
    why('no endpoints available for service "hook"'),
  )
  await post(`${core}/endpoints`, {
    metadata: { name: 'hook' },
    subsets: [{ addresses: [{ ip: '127.99.0.2' }], ports: [{ port: behind.port }] }],
  })
  t.equal((await post(`${core}/configmaps?dryRun=All`, configMap('x'))).status, 201)
  t.equal(behind.reviews.get('/path')?.length, 1)
  const other = { ...clientConfig, service: { ...service, port: 8443 } }
  await merge(`${registration}/validatingwebhookconfigurations/behind`, {
    webhooks: [webhook('behind', { clientConfig: other })],
  })
  t.match(
    message(await post(`${core}/configmaps?dryRun=All`, configMap('x'))),
    'Post "https://hook.default.svc:8443/path?timeout=10s": no service port 8443 found for service "hook"',
  )
})

t.test('reviews of the older version', async (t) => {
  await install(t, 'mutating', [
    {
      name: 'older',
      more: { admissionReviewVersions: ['v1beta1'] },
      answer: (review) => {
        const patch = Buffer.from('[{"op":"add","path":"/data/b","value":"2"}]').toString('base64')
        return { kind: review.kind, apiVersion: review.apiVersion, response: { allowed: true, patch } }
      },
    },
  ])
  t.match((await post(`${core}/configmaps?dryRun=All`, configMap('x'))).body, { data: { b: '2' } })
  t.equal(hooks.reviews.get('/older')?.[0]?.apiVersion, 'admission.k8s.io/v1beta1')
})

t.test('a slow webhook delays no other request', async (t) => {
  const asked = Promise.withResolvers<() => void>()
  const answer: Answer = (_review, request) => void asked.resolve(() => request.socket.destroy())
  await install(t, 'validating', [{ name: 'sleeps', answer, more: { timeoutSeconds: 30 } }])
  const waiting = post(`${core}/configmaps?dryRun=All`, configMap('x'))
  const wake = await asked.promise
  t.equal((await post(`${core}/secrets?dryRun=All`, { metadata: { name: 's' } })).status, 201)
  wake()
  t.match(message(await waiting), 'EOF')
})

t.test('what is no configuration', async (t) => {
  const path = `${registration}/validatingwebhookconfigurations`
  const cases: [webhook: object, why: string][] = [
    [
      { name: 'short.name' },
      'webhooks[0].name: Invalid value: "short.name": should be a domain with at least three segments separated by dots',
    ],
    [{ sideEffects: undefined }, 'webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun'],
    [
      { sideEffects: 'Some' },
      'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
    ],
    [
      { timeoutSeconds: 31 },
      'webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
    ],
    [{ failurePolicy: 'x' }, 'webhooks[0].failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"'],
    [{ clientConfig: {} }, 'webhooks[0].clientConfig: Required value: exactly one of url or service is required'],
    [
      { clientConfig: { url: 'http://x' } },
      `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
    ],
    [
      { clientConfig: { service: { namespace: 'n', name: 's', path: '//' } } },
      'webhooks[0].clientConfig.service.path: Invalid value: "//": segment[0] may not be empty',
    ],
    [
      { admissionReviewVersions: ['v2'] },
      'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
    ],
    [
      { rules: [{ ...rule, operations: ['*', 'CREATE'] }] },
      `webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
    ],
    [
      { rules: [{ ...rule, operations: ['READ'] }] },
      'webhooks[0].rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ],
    [
      { rules: [{ ...rule, resources: ['pods/*', 'pods/status'] }] },
      `webhooks[0].rules[0].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status`,
    ],
    [
      { matchConditions: [{ name: 'x', expression: 'nothing == 1' }] },
      "webhooks[0].matchConditions[0].expression: Invalid value: \"nothing == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')",
    ],
  ]
  for (const [more, why] of cases) {
    const refused = await post(path, { metadata: { name: 'x' }, webhooks: [webhook('x', more)] })
    t.equal(refused.status, 422)
    t.match(message(refused), `ValidatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: ${why}`)
  }
})
