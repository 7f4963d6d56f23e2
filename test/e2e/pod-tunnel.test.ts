/** `--pod-tunnel vxlan`: pods of two machines reach each other. The other machine is a network namespace at the end of a cable. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { linkName } from '../../kubelet/runtime/process/network/machine-link.ts'
import type { Node, Pod } from '../../shared/api/types.ts'
import { networkPolicies, nodes, pods, services } from '../../shared/client/resources.ts'
import { layCable } from '../harness/cable.ts'
import { kubeletPid, startCommand, startTestCluster } from '../harness/cluster.ts'
import { ownPodRange, ownServiceRange } from '../harness/own-pod-range.ts'
import { podNetworkTools } from '../harness/pod-network-tools.ts'
import { isReady, podOf } from '../harness/pods.ts'
import { run } from '../harness/run.ts'
import { SecondMachine } from '../harness/second-machine.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const MB = 5_000_000
/** Answers with the address of the client, and with as much as is asked for; counts what it is sent. */
const server = `process.on('SIGTERM', () => process.exit(0)); require('http').createServer(async (request, response) => {
  let sent = 0
  for await (const chunk of request) sent += chunk.length
  response.end(request.url === '/' ? request.socket.remoteAddress.replace('::ffff:', '') + ' ' + sent : Buffer.alloc(Number(request.url.slice(1))))
}).listen(80)`
const asks = (...hosts: string[]) =>
  `Promise.all(${JSON.stringify(hosts)}.map((host) => fetch('http://' + host, { signal: AbortSignal.timeout(3000) }).then((a) => a.text()))).then(String)`
const sends = `fetch('http://web-far/', { method: 'POST', body: Buffer.alloc(${MB}) }).then((a) => a.text())
  .then((said) => fetch('http://web-far/${MB}').then((a) => a.arrayBuffer()).then((a) => said + ' ' + a.byteLength))`

t.test('a cluster of two machines', async (t) => {
  const kubectl = await podNetworkTools(t)
  if (!kubectl) return
  const cable = await layCable(t)
  if (!cable) return skipOrFail(t, 'needs ip and network namespaces')
  await run('ip', ['netns', 'exec', cable.name, 'ip', 'route', 'add', 'default', 'via', cable.near])
  const range = ownPodRange.replace(/\d+\.0\/24$/, (end) => `${Number.parseInt(end, 10) & ~1}.0/23`)
  const network = ['--network=pod', '--pod-tunnel=vxlan']
  const open = ['--host=0.0.0.0', `--tls-san=${cable.near}`]
  const ranges = [`--cluster-cidr=${range}`, `--service-cidr=${ownServiceRange}`]
  const cluster = await startTestCluster(t, ...network, ...open, ...ranges)
  const { client, stateDir } = cluster
  const { port } = new URL(cluster.access.server)
  const printed = startCommand(t, [
    ...['token', 'create', '--print-join-command', `--server=${cable.near}:${port}`],
    `--state-dir=${stateDir}`,
  ])
  await printed.ended
  const machine = new SecondMachine(t, { before: `ip netns exec ${cable.name}` })
  const joining = machine.type(`${printed.stdout().trim()} --node-name far ${network.join(' ')}`)
  await joining.printed('Node far has joined')

  const named = (name: string): Promise<Pod> => client.get<Pod>(pods, { namespace, name })
  const whenReady = (name: string, is = (_: Pod): boolean => true): Promise<Pod> =>
    until(
      async () => {
        const pod = await named(name)
        return isReady(pod) && is(pod) ? pod : undefined
      },
      { what: `pod ${name} to be ready` },
    )
  const inPod = (name: string, expression: string): string =>
    execFileSync(
      kubectl.file,
      [`--kubeconfig=${cluster.kubeconfig}`, 'exec', name, '--', process.execPath, '-e'].concat(
        `${expression}.then(console.log, (error) => console.log(error.cause?.code ?? error.name))`,
      ),
      { encoding: 'utf8', timeout: 30_000 },
    ).trim()
  const reaches = (from: string, source: string, ...hosts: string[]): Promise<true> =>
    until(
      () => {
        try {
          return inPod(from, asks(...hosts)) === hosts.map(() => `${source} 0`).join() || undefined
        } catch {
          return undefined // Its kubelet may be starting again.
        }
      },
      { what: `${from} to reach ${hosts} as ${source}` },
    )
  for (const [name, nodeName] of [
    ['near', 'node-1'],
    ['far', 'far'],
  ] as const) {
    const command = [process.execPath, '-e', server]
    const readinessProbe = { httpGet: { port: 80, path: '/' }, periodSeconds: 1 }
    const spec = { nodeName, terminationGracePeriodSeconds: 1 }
    const pod = podOf({ name, command, readinessProbe, spec })
    await client.create<Pod>(pods, { ...pod, metadata: { ...pod.metadata, labels: { app: name } } }, { namespace })
    const service = { metadata: { name: `web-${name}` }, spec: { selector: { app: name }, ports: [{ port: 80 }] } }
    await client.create(services, service as never, { namespace })
  }
  const near = (await whenReady('near')).status?.podIP ?? ''
  const far = (await whenReady('far')).status?.podIP ?? ''

  await t.test('pods reach each other, and see who asks', async (t) => {
    const { metadata } = await client.get<Node>(nodes, { name: 'far' })
    t.equal(metadata.labels?.['kubestage.dev/pod-tunnel'], 'vxlan')
    const service = await client.get<{ metadata: object; spec: { clusterIP: string } }>(services, {
      namespace,
      name: 'web-far',
    })
    await reaches('near', near, far, service.spec.clusterIP, 'web-far')
    await reaches('far', far, near, 'web-near')
    t.equal(inPod('near', sends), `${near} ${MB} ${MB}`, 'what is large passes, by smaller packets')
  })

  await t.test('policies hold', async () => {
    const spec = { podSelector: { matchLabels: { app: 'near' } }, policyTypes: ['Ingress'] }
    const policy = (ingress: object[]) => ({ metadata: { name: 'closed' }, spec: { ...spec, ingress } }) as never
    await client.create(networkPolicies, policy([]), { namespace })
    await until(() => inPod('far', asks('web-near')) === 'TimeoutError', { what: 'the policy to hold' })
    await client.patch(
      networkPolicies,
      { namespace, name: 'closed' },
      policy([{ from: [{ podSelector: { matchLabels: { app: 'far' } } }] }]),
      { type: 'merge' },
    )
    await reaches('far', far, 'web-near')
    await client.delete(networkPolicies, { namespace, name: 'closed' })
  })

  await t.test('it outlives a kubelet that is killed, and a network that is lost', async () => {
    process.kill(kubeletPid(cluster), 'SIGKILL')
    await cluster.process.printed('the kubelet ended (SIGKILL) and starts again')
    await reaches('far', far, 'web-near')
    const state = join(machine.folder, '.kubestage-node')
    process.kill(Number(readFileSync(join(state, 'kubelet', 'runtime', 'shim.pid'), 'utf8')), 'SIGKILL')
    const again = await whenReady('far', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0)
    await reaches('near', near, 'web-far')
    await reaches('far', again.status?.podIP ?? '', 'web-near')
  })

  await t.test('nothing is left', async (t) => {
    const { status } = await client.get<Node>(nodes, { name: 'node-1' })
    const udp = (status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0).toString(16).toUpperCase().padStart(4, '0')
    const isOpen = (): boolean => readFileSync('/proc/net/udp', 'utf8').includes(`00000000:${udp} `)
    t.ok(isOpen(), 'the machine takes datagrams at the port of its kubelet')
    const shim = readFileSync(join(stateDir, 'kubelet', 'runtime', 'shim.pid'), 'utf8').trim()
    const look = `for one in /proc/${shim}/fd/*; do nsenter --net=$one ip route show dev pod-tunnel; done 2> /dev/null`
    const ways = async (): Promise<string> => (await run('sh', ['-c', look]))?.output ?? ''
    const { spec } = await client.get<Node>(nodes, { name: 'far' })
    t.match(await ways(), spec?.podCIDR)
    process.kill(joining.pid, 'SIGTERM')
    t.equal(await joining.ended, 0)
    await client.delete(nodes, { name: 'far' })
    await until(async () => (await ways()) === '', { what: 'a node that is deleted to be forgotten' })
    await cluster.process.stop()
    await until(() => !isOpen(), { what: 'the port to be free' })
    const link = linkName(join(stateDir, 'kubelet', 'runtime'))
    const isThere = (): boolean => readdirSync('/sys/class/net').some((name) => name === link || name === 'pod-tunnel')
    await until(() => !isThere(), { what: 'the links to go with the network of the pods, in the kernel’s own time' })
    const links = await run('ip', ['-n', cable.name, '-br', 'link'])
    t.same(
      (links?.output ?? '')
        .trim()
        .split('\n')
        .map((line) => line.split(/[@ ]/)[0]),
      ['lo', `${cable.name}b`],
    )
  })
})
