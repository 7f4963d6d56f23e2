/** NetworkPolicies with `--network pod`: two namespaces on two nodes, and real connections between their pods. */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import type { NetworkPolicySpec } from '../../shared/api/services/network-policy.ts'
import { kubeletPid, startTestCluster } from '../harness/cluster.ts'
import { ownPodRange } from '../harness/own-pod-range.ts'
import { podNetworkTools } from '../harness/pod-network-tools.ts'
import { until } from '../harness/until.ts'

const server = `process.on('SIGTERM', () => process.exit(0)); for (const port of [80, 81]) require('http').createServer((request, response) => response.end('ok')).listen(port)`
/** Prints for each `HOST:PORT` whether it can be reached. */
const tries = (places: readonly string[]): string => `
const { connect } = require('net')
for (const place of ${JSON.stringify(places)}) {
  const [host, port] = place.split(':')
  const socket = connect({ host, port }).setTimeout(1500)
  const say = (word) => { console.log(place + ' ' + word); socket.destroy() }
  socket.on('connect', () => say('yes')).on('error', () => say('no')).on('timeout', () => say('no'))
}`
const pod = (name: string, namespace: string, command: string[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { app: name } },
  spec: {
    nodeName: namespace === 'one' ? 'node-1' : 'node-2',
    terminationGracePeriodSeconds: 1,
    restartPolicy: name === 'early' ? 'Never' : 'Always',
    containers: [
      {
        name: 'main',
        image: 'node',
        command,
        ports: [{ name: 'http', containerPort: 80 }],
        ...(name === 'web' && { readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1, failureThreshold: 1 } }),
      },
    ],
  },
})
const namespace = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { team: name } },
})
const service = (namespace: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace },
  spec: { selector: { app: 'web' }, ports: [{ port: 8080, targetPort: 80 }] },
})
const sleep = ['sleep', '1000']
const serve = [process.execPath, '-e', server]
const objects = [
  namespace('one'),
  namespace('two'),
  pod('web', 'one', serve),
  pod('client', 'one', sleep),
  pod('other', 'one', sleep),
  pod('web', 'two', serve),
  pod('client', 'two', sleep),
  service('one'),
  service('two'),
]
const label = (app: string) => ({ podSelector: { matchLabels: { app } } })
const kubeDns = { matchLabels: { 'k8s-app': 'kube-dns' } }
const team = (name: string) => ({ namespaceSelector: { matchLabels: { team: name } } })

t.test('policies', async (t) => {
  const kubectl = await podNetworkTools(t)
  if (!kubectl) return
  const range = ownPodRange.replace(/\d+\.0\/24$/, (end) => `${Number.parseInt(end, 10) & ~1}.0/23`)
  const cluster = await startTestCluster(t, '--nodes=2', '--network=pod', `--cluster-cidr=${range}`)
  const run = (args: string[], input?: string): string =>
    execFileSync(kubectl.file, [`--kubeconfig=${cluster.kubeconfig}`, ...args], {
      encoding: 'utf8',
      timeout: 60_000,
      input,
    }).trim()
  const apply = (...items: object[]): string =>
    run(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const policy = (name: string, namespace: string, spec: NetworkPolicySpec): string =>
    apply({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name, namespace }, spec })
  const remove = (name: string, namespace: string): string => run(['delete', 'networkpolicy', name, '-n', namespace])
  const reached = (from: string, places: readonly string[]): Record<string, string> => {
    const [namespace = '', name = ''] = from.split('/')
    const script = tries(places)
    const printed = run(['exec', '-n', namespace, name, '--', process.execPath, '-e', script])
    return Object.fromEntries(printed.split('\n').map((line) => line.split(' ')))
  }
  /** Waits for what each pod, as `NAMESPACE/NAME`, can reach. */
  const reach = async (expected: Record<string, Record<string, string>>, why: string): Promise<void> => {
    const differing = () =>
      Object.entries(expected).flatMap(([from, places]) => {
        const found = reached(from, Object.keys(places))
        return Object.keys(places).flatMap((place) =>
          places[place] === found[place] ? [] : `${from} to ${place}: ${found[place]}`,
        )
      })
    let last: string[] = []
    const isSo = (): boolean => {
      last = differing()
      return last.length === 0
    }
    await until(isSo, { what: why, timeoutMs: 20_000 }).catch((error: Error) => t.comment(`${error.message}: ${last}`))
    t.same(last, [], why)
  }

  apply(...objects)
  for (const name of ['one', 'two']) run(['wait', '--for=condition=Ready', 'pod', '--all', '-n', name, '--timeout=60s'])
  const ipOf = (from: string): string => {
    const [namespace = '', name = ''] = from.split('/')
    return run(['get', 'pod', name, '-n', namespace, '-o', 'jsonpath={.status.podIP}'])
  }
  const [one, two] = [ipOf('one/web'), ipOf('two/web')]
  t.not(one.split('.')[2], two.split('.')[2], 'pods of two nodes')
  const [http, more, other] = [`${one}:80`, `${one}:81`, `${two}:80`]
  const none = { [http]: 'no', [more]: 'no' }
  const every = { [http]: 'yes', [more]: 'yes' }
  const isOpen = { 'one/client': { ...every, [other]: 'yes' }, 'two/client': every }
  await reach(isOpen, 'without policies all pods reach each other')

  policy('deny', 'one', { podSelector: {} })
  await reach(
    { 'one/client': { ...none, [other]: 'yes' }, 'two/client': none, 'two/web': { [other]: 'yes' } },
    'a namespace takes nothing, and sends',
  )
  t.equal(run(['get', 'pod', 'web', '-n', 'one', '-o', 'jsonpath={.status.containerStatuses[0].ready}']), 'true')
  t.match(reached('one/web', [http, 'web.one:8080']), { [http]: 'yes' }, 'a pod reaches itself')

  await t.test('a pod that starts is ruled from its first moment', async (t) => {
    apply(pod('early', 'one', [process.execPath, '-e', tries([http, other])]))
    const log = () => run(['logs', '-n', 'one', 'early', '--ignore-errors']).split('\n').sort()
    t.same(
      await until(() => log().length === 2 && log(), { what: 'both answers' }),
      [`${http} no`, `${other} yes`].sort(),
    )
  })

  policy('labels', 'one', {
    ...label('web'),
    ingress: [{ from: [label('client'), team('two')], ports: [{ port: 'http' }] }],
  })
  const some = { [http]: 'yes', [more]: 'no' }
  await reach(
    { 'one/client': { ...some, 'web:8080': 'yes' }, 'one/other': { ...none, 'web:8080': 'no' }, 'two/client': some },
    'by labels of pods and namespaces, and a port by its name',
  )
  remove('labels', 'one')
  run(['label', 'pod', 'other', '-n', 'one', 'extra=yes'])
  policy('extra', 'one', {
    ...label('web'),
    ingress: [
      { from: [{ podSelector: { matchLabels: { extra: 'yes' } } }], ports: [{ port: 80, endPort: 90 }] },
      { from: [{ ipBlock: { cidr: '10.0.0.0/8', except: [`${ipOf('one/client')}/32`] } }], ports: [{ port: 81 }] },
    ],
  })
  await reach(
    { 'one/client': none, 'one/other': every, 'two/client': { [http]: 'no', [more]: 'yes' } },
    'by a range of ports, and by addresses',
  )
  run(['label', 'pod', 'other', '-n', 'one', 'extra-'])
  await reach({ 'one/other': { [http]: 'no', [more]: 'yes' } }, 'a label that is taken away')

  await t.test('a kubelet that is killed', async (t) => {
    process.kill(kubeletPid(cluster), 'SIGKILL')
    await cluster.process.printed('the kubelet ended (SIGKILL) and starts again')
    const still = () => {
      try {
        return reached('one/other', [http, more])
      } catch {
        return undefined // the kubelet is not there yet
      }
    }
    t.match(await until(still, { what: 'kubectl exec' }), { [http]: 'no', [more]: 'yes' })
  })

  remove('deny', 'one')
  remove('extra', 'one')
  policy('silent', 'one', { ...label('client'), policyTypes: ['Egress'] })
  const name = 'web.two:8080'
  await reach({ 'one/client': { ...none, [other]: 'no', [name]: 'no' }, 'one/other': every }, 'a pod sends nothing')
  policy('dns', 'one', {
    ...label('client'),
    policyTypes: ['Egress'],
    egress: [
      {
        to: [
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
            podSelector: kubeDns,
          },
        ],
        ports: [{ protocol: 'UDP', port: 53 }],
      },
    ],
  })
  await reach({ 'one/client': { [other]: 'no', [name]: 'no' } }, 'names alone')
  policy('two', 'one', {
    ...label('client'),
    policyTypes: ['Egress'],
    egress: [{ to: [{ ...team('two'), ...label('web') }] }],
  })
  await reach({ 'one/client': { [http]: 'no', [other]: 'yes', [name]: 'yes' } }, 'a Service of another namespace')
  for (const one of ['silent', 'dns', 'two']) remove(one, 'one')
  await reach(isOpen, 'all is open again')
})
