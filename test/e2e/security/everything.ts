import type { Asker, Question } from './ask.ts'

interface Resource {
  name: string
  namespaced: boolean
  verbs: string[]
}
interface ResourceList {
  groupVersion: string
  resources: Resource[]
}

/** What every authenticated user may ask: about itself. */
const aboutOneself = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'selfsubjectreviews']

/** One request for each verb of each resource and subresource that the server serves, in two namespaces. */
export async function everyObjectRequest(admin: Asker): Promise<Question[]> {
  const json = async (path: string) => JSON.parse((await admin.ask({ path })).body) as Record<string, unknown>
  const { groups } = (await json('/apis')) as { groups: { versions: { groupVersion: string }[] }[] }
  const groupVersions = groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion))
  const roots = ['/api/v1', ...groupVersions.map((groupVersion) => `/apis/${groupVersion}`)]
  const lists = await Promise.all(
    roots.map(async (root) => ({ root, list: (await json(root)) as unknown as ResourceList })),
  )
  return lists.flatMap(({ root, list }) =>
    list.resources
      .filter(({ name }) => !aboutOneself.includes(name))
      .flatMap((resource) =>
        resource.namespaced
          ? ['default', 'kube-system'].flatMap((namespace) => requestsOf(`${root}/namespaces/${namespace}`, resource))
          : requestsOf(root, resource),
      ),
  )
}

function requestsOf(root: string, { name, verbs }: Resource): Question[] {
  const [plural, subresource] = name.split('/')
  const collection = `${root}/${plural}`
  const item = `${collection}/some${subresource ? `/${subresource}` : ''}`
  const body = { metadata: { name: 'some' } }
  const byVerb: Record<string, Question> = {
    get: { path: item },
    list: { path: collection },
    watch: { path: `${collection}?watch=true` },
    create: { method: 'POST', path: subresource ? item : collection, body },
    update: { method: 'PUT', path: item, body },
    patch: { method: 'PATCH', path: item, body, contentType: 'application/merge-patch+json' },
    delete: { method: 'DELETE', path: item },
    deletecollection: { method: 'DELETE', path: collection },
  }
  return verbs.flatMap((verb) => byVerb[verb] ?? [])
}

/** Those of Kubestage itself. */
export const instrumentRequests: Question[] = [
  { path: '/kubestage/v1/journal' },
  { path: '/kubestage/v1/journal?watch=true' },
  { path: '/kubestage/v1/record?watch=true' },
  { method: 'POST', path: '/kubestage/v1/record', body: { type: 'MARK', text: 'x', level: 'note' } },
  { method: 'POST', path: '/kubestage/v1/ui-links' },
  { method: 'PUT', path: '/kubestage/v1/journal', body: { kept: 1 } },
  { method: 'DELETE', path: '/kubestage/v1/journal' },
  { path: '/kubestage/v1/faults' },
  { method: 'POST', path: '/kubestage/v1/faults', body: { status: 500 } },
  { method: 'DELETE', path: '/kubestage/v1/faults' },
  { path: '/kubestage/v1/snapshot' },
  { method: 'PUT', path: '/kubestage/v1/snapshot', body: {} },
  { method: 'POST', path: '/kubestage/v1/reset', body: {} },
  { path: '/kubestage/v1/clock' },
  { method: 'POST', path: '/kubestage/v1/clock', body: { advance: '1s' } },
]

const kubeletPaths = [
  ...['/', '/healthz', '/pods', '/runningpods/', '/configz', '/stats/summary', '/logs/', '/spec'],
  ...['/metrics', '/metrics/cadvisor', '/metrics/probes', '/metrics/resource'],
  ...['/containerLogs/default/web/c', '/exec/default/web/c?command=id', '/attach/default/web/c'],
  ...['/portForward/default/web?port=80', '/run/default/web/c?cmd=id', '/checkpoint/default/web/c'],
  ...['/debug/images', '/debug/clock?advance=1s', '/debug/node/shutdown', '/debug/node/lose'],
  ...['/debug/pressure/memory', '/debug/pprof/', '/debug/flags/v', '/no/such/path'],
]
const upgrades: Record<string, string>[] = [
  { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' },
  {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol': 'v5.channel.k8s.io',
  },
]

/** Each path of a kubelet with each method, and as a stream. */
export const kubeletRequests: Question[] = kubeletPaths.flatMap((path) => [
  ...['GET', 'POST', 'PUT', 'DELETE'].map((method) => ({ method, path })),
  ...upgrades.flatMap((headers) => [
    { path, headers },
    { method: 'POST', path, headers },
  ]),
])
