/** Requests whose body is another object than that of their path, and updates of pods, which Pod Security may judge. */
import type { AuditedRequest } from './requests.ts'

const namespace = 'bodies'
const inNamespace = `/api/v1/namespaces/${namespace}`
const post = (path: string, body: object): AuditedRequest => ({ method: 'POST', path, body })
const remove = (path: string, body?: object): AuditedRequest => ({ method: 'DELETE', path, body })
const patch = (path: string, body: object, type = 'merge-patch'): AuditedRequest => ({
  method: 'PATCH',
  path,
  headers: { 'content-type': `application/${type}+json` },
  body,
})
const review = (group: string, plural: string, spec?: object): AuditedRequest =>
  post(`/apis/${group}.k8s.io/v1/${plural}`, { ...(spec && { spec }) })

const resourceAttributes = { verb: 'get', resource: 'pods', namespace }
const reviews: readonly AuditedRequest[] = [
  review('authorization', 'selfsubjectaccessreviews', { resourceAttributes }),
  review('authorization', 'subjectaccessreviews', { user: 'jane', resourceAttributes }),
  review('authorization', `namespaces/${namespace}/localsubjectaccessreviews`, { user: 'jane', resourceAttributes }),
  review('authorization', 'selfsubjectaccessreviews', {}),
  review('authorization', 'selfsubjectrulesreviews', { namespace }),
  review('authentication', 'tokenreviews', { token: 'bad' }),
  review('authentication', 'selfsubjectreviews'),
]

const template = (labels: object) => ({ metadata: { labels }, spec: podSpec })
const podSpec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] }
const pod = (name: string, more: object = {}) => ({ metadata: { name }, spec: { ...podSpec, ...more } })
const scale = `/apis/apps/v1/namespaces/${namespace}/deployments/d/scale`
const subresources: readonly AuditedRequest[] = [
  post(`${inNamespace}/serviceaccounts/default/token`, { spec: { audiences: ['a'], expirationSeconds: 600 } }),
  post(`${inNamespace}/pods`, pod('p')),
  post(`${inNamespace}/pods/p/binding`, { metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }),
  post(`${inNamespace}/bindings`, { metadata: { name: 'none' }, target: { name: 'n' } }),
  { method: 'PUT', path: `${inNamespace}/pods/p/status`, body: { metadata: { name: 'p' }, status: { message: 'm' } } },
  post(`${inNamespace}/pods/p/eviction`, { metadata: { name: 'p' }, deleteOptions: { gracePeriodSeconds: 0 } }),
  post(`${inNamespace}/pods/p/eviction`, { metadata: { name: 'other' } }),
  post(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    metadata: { name: 'd' },
    spec: { selector: { matchLabels: { a: 'b' } }, template: template({ a: 'b' }) },
  }),
  { method: 'PUT', path: scale, body: { metadata: { name: 'd' }, spec: { replicas: 2 } } },
  { method: 'PUT', path: scale, body: { metadata: { name: 'other' }, spec: { replicas: 2 } } },
  patch(scale, { spec: { replicas: 3 } }),
]

const configMaps = `${inNamespace}/configmaps`
const deletions: readonly AuditedRequest[] = [
  ...['a', 'b', 'c', 'd'].map((name) => post(configMaps, { metadata: { name } })),
  remove(`${configMaps}/a`, { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }),
  remove(`${configMaps}/b`, { gracePeriodSeconds: 0, preconditions: { uid: 'other' } }),
  remove(`${configMaps}/b`, { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1', dryRun: ['All'] }),
  remove(`${configMaps}/b`, {}),
  remove(`${configMaps}/none`, { orphanDependents: true }),
  remove(`${configMaps}/c`, { propagationPolicy: 'Odd' }),
  remove(`${configMaps}/c?gracePeriodSeconds=3`),
  remove(configMaps, { gracePeriodSeconds: 5 }),
]

const labels = { 'pod-security.kubernetes.io/audit': 'baseline', 'pod-security.kubernetes.io/warn': 'restricted' }
const updatesOfPods = (place: string): AuditedRequest[] => {
  const path = `/api/v1/namespaces/${place}/pods/q`
  const container = { name: 'e', image: 'i', targetContainerName: 'c' }
  const resources = { requests: { cpu: '1m' } }
  return [
    post(`/api/v1/namespaces/${place}/pods`, pod('q', { hostNetwork: true })),
    patch(path, { metadata: { labels: { a: 'b' } } }),
    patch(path, { spec: { containers: [{ name: 'c', image: 'j' }] } }, 'strategic-merge-patch'),
    patch(`${path}/status`, { status: { message: 'm' } }),
    patch(`${path}/ephemeralcontainers`, { spec: { ephemeralContainers: [container] } }, 'strategic-merge-patch'),
    patch(`${path}/resize`, { spec: { containers: [{ name: 'c', resources }] } }, 'strategic-merge-patch'),
  ]
}

export const bodyRequests: readonly AuditedRequest[] = [
  post('/api/v1/namespaces', { metadata: { name: namespace } }),
  post('/api/v1/namespaces', { metadata: { name: 'judged', labels } }),
  ...[namespace, 'judged'].map((name) =>
    post(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } }),
  ),
  ...reviews,
  ...subresources,
  ...deletions,
  ...updatesOfPods(namespace),
  ...updatesOfPods('judged'),
]
