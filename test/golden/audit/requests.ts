/** What is asked of both servers, one after the other, and under which policy. */
import { bodyRequests } from './bodies.ts'
import { webhookRequests } from './webhooks.ts'

export interface AuditedRequest {
  method: string
  path: string
  headers?: Record<string, string>
  body?: object
  /** Without the administrator's certificate. */
  anonymous?: boolean
}

export const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitManagedFields: true,
  rules: [
    { level: 'None', userGroups: ['system:nodes'] },
    { level: 'None', users: ['system:apiserver', 'system:kube-controller-manager'] },
    { level: 'None', nonResourceURLs: ['/healthz*', '/readyz'] },
    { level: 'None', resources: [{ group: '', resources: ['endpoints', 'services/status'] }] },
    { level: 'RequestResponse', resources: [{ group: '', resources: ['configmaps'] }], omitStages: ['RequestReceived'] },
    { level: 'Request', resources: [{ group: '', resources: ['namespaces'] }, { group: 'coordination.k8s.io' }] },
    { level: 'Request', verbs: ['patch'], omitStages: ['RequestReceived'] },
    { level: 'Metadata', resources: [{ group: '', resources: ['secrets', 'pods/*'], resourceNames: ['one'] }] },
    { level: 'Request', namespaces: ['bodies'], omitStages: ['RequestReceived'] },
    { level: 'Request', resources: [{ group: 'authorization.k8s.io' }, { group: 'authentication.k8s.io' }] },
    { level: 'Metadata', omitStages: ['RequestReceived'] },
  ],
}

const json = { 'content-type': 'application/json' }
const merge = { 'content-type': 'application/merge-patch+json' }
const jane = { 'impersonate-user': 'jane', 'impersonate-group': 'developers', 'impersonate-extra-team': 'blue' }

interface Collection {
  path: string
  object(name: string): object
  change: object
}

const data = (name: string, more: object) => ({ metadata: { name }, ...more })
const inDefault = (plural: string): string => `/api/v1/namespaces/default/${plural}`

const collections: readonly Collection[] = [
  { path: inDefault('configmaps'), object: (name) => data(name, { data: { a: '1' } }), change: { data: { b: '2' } } },
  { path: inDefault('secrets'), object: (name) => data(name, { stringData: { a: 'x' } }), change: { data: { b: 'eA==' } } },
  { path: '/api/v1/namespaces', object: (name) => data(name, {}), change: { metadata: { labels: { a: 'b' } } } },
  {
    path: inDefault('services'),
    object: (name) => data(name, { spec: { ports: [{ port: 80 }] } }),
    change: { metadata: { labels: { a: 'b' } } },
  },
  {
    path: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    object: (name) => data(name, { spec: { holderIdentity: 'me' } }),
    change: { spec: { holderIdentity: 'you' } },
  },
  {
    path: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    object: (name) => data(name, { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }),
    change: { metadata: { labels: { a: 'b' } } },
  },
  {
    path: '/apis/scheduling.k8s.io/v1/priorityclasses',
    object: (name) => data(name, { value: 7 }),
    change: { description: 'changed' },
  },
]

function life({ path, object, change }: Collection): AuditedRequest[] {
  const one = `${path}/one`
  return [
    { method: 'GET', path },
    { method: 'GET', path: one },
    { method: 'POST', path, body: object('one') },
    { method: 'POST', path, body: object('one') },
    { method: 'POST', path: `${path}?dryRun=All`, body: object('two') },
    { method: 'POST', path, body: { metadata: { generateName: 'Bad_' } } },
    { method: 'POST', path, headers: json, body: { kind: 'Odd' } },
    { method: 'GET', path: one },
    { method: 'GET', path: `${path}?limit=1` },
    { method: 'GET', path: `${path}?fieldSelector=metadata.name%3Done` },
    { method: 'GET', path: `${path}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dnone` },
    { method: 'PATCH', path: one, headers: merge, body: change },
    { method: 'PATCH', path: `${path}/none`, headers: merge, body: change },
    { method: 'PATCH', path: one, headers: { 'content-type': 'text/odd' }, body: change },
    { method: 'PUT', path: `${path}/other`, body: object('one') },
    { method: 'GET', path, headers: jane },
    { method: 'DELETE', path: one, headers: jane },
    { method: 'DELETE', path: `${path}/none` },
    { method: 'DELETE', path: `${one}?dryRun=All` },
    { method: 'GET', path: one, headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } },
    { method: 'GET', path: one, anonymous: true },
    { method: 'GET', path: one, anonymous: true, headers: { authorization: 'Bearer bad' } },
    { method: 'DELETE', path: one },
  ]
}

const others: readonly AuditedRequest[] = [
  { method: 'GET', path: '/version' },
  { method: 'GET', path: '/healthz' },
  { method: 'GET', path: '/readyz' },
  { method: 'GET', path: '/nothing/here' },
  { method: 'GET', path: '/apis' },
  { method: 'GET', path: '/api/v1' },
  { method: 'GET', path: '/apis/apps' },
  { method: 'GET', path: '/version', anonymous: true },
  { method: 'GET', path: '/metrics', anonymous: true },
  { method: 'GET', path: '/version', headers: jane },
  { method: 'GET', path: '/version', headers: { 'x-forwarded-for': '10.1.2.3, bad, 10.4.5.6', 'x-real-ip': '10.7.8.9' } },
  { method: 'GET', path: '/api/v1/nodes/none/proxy/metrics' },
  { method: 'GET', path: inDefault('endpoints') },
  { method: 'GET', path: inDefault('pods/one/log') },
  { method: 'GET', path: inDefault('things') },
  { method: 'DELETE', path: `${inDefault('configmaps')}?labelSelector=a%3Db` },
  {
    method: 'POST',
    path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    body: {
      metadata: { name: 'janes' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    },
  },
  { method: 'GET', path: inDefault('configmaps'), headers: jane },
  { method: 'GET', path: `${inDefault('configmaps')}/none`, headers: jane },
  { method: 'GET', path: inDefault('pods'), headers: jane },
  { method: 'GET', path: inDefault('secrets'), headers: jane },
  { method: 'GET', path: '/apis/apps/v1/deployments', headers: jane },
  { method: 'GET', path: inDefault('configmaps'), headers: { 'impersonate-user': 'nobody', 'impersonate-uid': '7' } },
  {
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
  },
  { method: 'POST', path: '/apis/authentication.k8s.io/v1/tokenreviews', body: { spec: { token: 'bad' } } },
  { method: 'GET', path: inDefault('configmaps'), headers: { 'impersonate-group': 'no-user' } },
  { method: 'OPTIONS', path: inDefault('configmaps') },
  { method: 'HEAD', path: inDefault('configmaps') },
]

const again = others.map(
  ({ method, path }): AuditedRequest => ({ method, path: `${path}${path.includes('?') ? '&' : '?'}second=1` }),
)

export const requests: readonly AuditedRequest[] = [
  ...collections.flatMap(life),
  ...others,
  ...again.slice(0, 16),
  ...webhookRequests,
  ...bodyRequests,
].map((one, index) => ({
  ...one,
  headers: { 'user-agent': 'audited', 'audit-id': `request-${index}`, ...(one.body && json), ...one.headers },
}))

/** Returns the body of a request; `clientConfig` is that of a webhook server. */
export function bodyOf(
  { body }: AuditedRequest,
  { clientConfig }: { clientConfig(path: string): { url: string; caBundle: string } },
): string | undefined {
  const { url, caBundle } = clientConfig('')
  return body && JSON.stringify(body).replaceAll('WEBHOOK', url).replaceAll('CA_BUNDLE', caBundle)
}
