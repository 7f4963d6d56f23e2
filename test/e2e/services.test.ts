/** Services with `--network pod`: pods find them by their names, and reach them at their addresses. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTestCluster } from '../harness/cluster.ts'
import { ownPodRange, ownServiceRange } from '../harness/own-pod-range.ts'
import { podNetworkTools } from '../harness/pod-network-tools.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const server = `
const http = require('http'); const fs = require('fs')
process.on('SIGTERM', () => process.exit(0))
http.createServer((request, response) => {
  if (request.url === '/ready') return response.writeHead(fs.existsSync('/tmp/unready') ? 503 : 200).end()
  response.end(process.env.HOSTNAME + ' ' + request.socket.remoteAddress)
}).listen(8080)
const echo = require('dgram').createSocket('udp4').bind(5353)
echo.on('message', (text, { port, address }) => echo.send(process.env.HOSTNAME + ' ' + text, port, address))`
const template = {
  metadata: { labels: { app: 'web' } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image: 'node',
        command: [process.execPath, '-e', server],
        readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1, failureThreshold: 1 },
      },
    ],
  },
}
const ports = [
  { name: 'http', port: 80, targetPort: 8080 },
  { name: 'echo', port: 53, targetPort: 5353, protocol: 'UDP' },
]
const askEcho = `const socket = require('dgram').createSocket('udp4'); socket.on('message', (text) => { console.log(String(text)); process.exit() }); socket.send('hello', 53, 'web'); setTimeout(() => process.exit(1), 5000)`
/** Prints the answers to requests in succession, each by a connection of its own; or the code of an error. */
const asks = (url: string, count = 1): string =>
  `const { get } = require('http'); const next = (left) => left && get('${url}', { agent: false }, (answer) => answer.on('data', (text) => console.log(String(text))).on('end', () => next(left - 1))).on('error', ({ code }) => console.log(code)); next(${count})`
/** Sends by one socket for ever, and prints each server that answers, once. */
const keepAsking = `const socket = require('dgram').createSocket('udp4'); let last; socket.on('message', (text) => { const [host] = String(text).split(' '); if (host !== last) console.log(host); last = host }); setInterval(() => socket.send('hello', 53, process.argv[1]), 100)`
const service = (name: string, spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name }, spec })
const objects = [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template },
  },
  service('web', { selector: { app: 'web' }, ports }),
  service('each', { selector: { app: 'web' }, clusterIP: 'None', ports }),
  service('alias', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }),
  service('open', { type: 'NodePort', selector: { app: 'web' }, externalIPs: ['192.0.2.7'], ports }),
  service('machine', { selector: { app: 'machine' }, ports: [{ port: 80, targetPort: 18080 + (process.pid % 1000) }] }),
  service('sticky', { selector: { app: 'web' }, sessionAffinity: 'ClientIP', ports }),
  service('nobody', { selector: { app: 'nobody' }, ports }),
  service('balanced', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', selector: { app: 'web' }, ports }),
  service('empty', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', selector: { app: 'nobody' }, ports }),
  service('signals', { selector: { app: 'web' }, ports: [{ port: 2905, protocol: 'SCTP' }] }),
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'client' },
    spec: { containers: [{ name: 'main', image: 'busybox', command: ['sleep', '1000'] }] },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'machine', labels: { app: 'machine' } },
    spec: {
      hostNetwork: true,
      dnsPolicy: 'ClusterFirstWithHostNet',
      containers: [
        {
          name: 'main',
          image: 'node',
          command: [
            process.execPath,
            '-e',
            `require('http').createServer((request, response) => response.end('machine')).listen(${18080 + (process.pid % 1000)})`,
          ],
        },
      ],
    },
  },
]

/** So many hit each of two pods, but for one of a million times. */
const REQUESTS = 21

t.test('a cluster whose Services have names', async (t) => {
  const kubectl = await podNetworkTools(t)
  if (!kubectl) return
  const cluster = await startTestCluster(
    t,
    '--network=pod',
    `--cluster-cidr=${ownPodRange}`,
    `--service-cidr=${ownServiceRange}`,
  )
  const run = (args: string[], input?: string): string =>
    execFileSync(kubectl.file, [`--kubeconfig=${cluster.kubeconfig}`, ...args], {
      encoding: 'utf8',
      timeout: 60_000,
      input,
    }).trim()
  const inClient = (...command: string[]): string => run(['exec', 'client', '--', ...command])
  const node = (code: string): string => inClient(process.execPath, '-e', code)
  const clusterIP = (name: string): string => run(['get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}'])
  const addresses = (name: string): string[] =>
    [...new Set(inClient('getent', 'ahostsv4', name).match(/^\S+/gm) ?? [])].sort()
  run(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
  run(['wait', '--for=condition=Available', 'deployment/web', '--timeout=60s'])
  run(['wait', '--for=condition=Ready', 'pod/client', 'pod/machine', '--timeout=60s'])
  const web = clusterIP('web')
  const hostsOf = (answers: string): string[] => [...new Set(answers.match(/^web\S+/gm) ?? [])]
  const hosts = (url: string): string[] => hostsOf(node(asks(url, REQUESTS)))

  await t.test('what a balancer asks', async (t) => {
    const check = async (name: string): Promise<[number, unknown]> => {
      const port = run(['get', 'service', name, '-o', 'jsonpath={.spec.healthCheckNodePort}'])
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`)
      return [answer.status, await answer.json()]
    }
    const said = (name: string, localEndpoints: number) => ({
      service: { namespace: 'default', name },
      localEndpoints,
      serviceProxyHealthy: true,
    })
    t.same(await check('balanced'), [200, said('balanced', 2)])
    t.same(await check('empty'), [503, said('empty', 0)])
  })

  await t.test('SCTP', async (t) => {
    const hasSctp =
      spawnSync('perl', ['-MSocket', '-e', 'socket(my $s, AF_INET, SOCK_STREAM, 132) or exit 1']).status === 0
    if (hasSctp) return skipOrFail(t, 'the kernel has SCTP, and no program here speaks it')
    const message = () =>
      run(['get', 'events', '--field-selector', 'reason=ProtocolNotServed', '-o', 'jsonpath={..message}'])
    await until(() => message() === 'SCTP port 2905 is not served on node node-1: its kernel has no SCTP', {
      what: 'the event of the Service',
    })
  })

  await t.test('names', async (t) => {
    t.equal(
      inClient('cat', '/etc/resolv.conf')
        .split('\n')
        .slice(0, 2)
        .join(' ')
        .replace(/ cluster\.local.*nameserver/, ' … nameserver'),
      `search default.svc.cluster.local svc.cluster.local … nameserver ${ownServiceRange.replace('.0/24', '.10')}`,
    )
    for (const name of ['web', 'web.default', 'web.default.svc', 'web.default.svc.cluster.local', 'alias'])
      t.same(addresses(name), [web], name)
    t.same(addresses('kubernetes.default'), [clusterIP('kubernetes')])
    const ips = () => run(['get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].status.podIP}']).split(' ').sort()
    t.same(addresses('each'), ips(), 'a headless Service has the addresses of its pods')
    const dns = ownServiceRange.replace('.0/24', '.10')
    t.equal(run(['get', 'service', '-n', 'kube-system', 'kube-dns', '-o', 'jsonpath={.spec.clusterIP}']), dns)
    t.same(addresses('kube-dns.kube-system'), [dns], 'DNS has a name itself')
    t.match(inClient('getent', 'hosts', web), 'web.default.svc.cluster.local', 'an address has a name')
    const found = JSON.parse(
      node(
        `require('dns').promises.resolveSrv('_http._tcp.web.default.svc.cluster.local').then((a) => console.log(JSON.stringify(a)))`,
      ),
    )
    t.match(found, [{ name: 'web.default.svc.cluster.local', port: 80 }])
    t.throws(() => addresses('none'), 'a name that is not there')
  })

  await t.test('traffic', async (t) => {
    const clientIP = run(['get', 'pod', 'client', '-o', 'jsonpath={.status.podIP}'])
    for (const name of ['web', 'web.default', 'web.default.svc.cluster.local', web])
      t.ok(node(asks(`http://${name}`)).endsWith(clientIP), `${name}: the pod sees who asks`)
    t.equal(hosts('http://web').length, 2, 'each pod answers')
    t.equal(hosts('http://sticky').length, 1, 'a client comes back to the same pod')
    t.match(node(askEcho), /^web-.* hello$/, 'by datagrams')
    t.equal(node(asks('http://nobody')), 'ECONNREFUSED', 'without an endpoint')
    t.equal(node(asks('http://web:81')), 'ECONNREFUSED', 'a port that the Service does not have')
    const [pod = ''] = run(['get', 'pods', '-l', 'app=web', '-o', 'name']).split('\n')
    const answers = run(['exec', pod, '--', process.execPath, '-e', asks('http://web', REQUESTS)])
    t.equal(hostsOf(answers).length, 2, 'a pod reaches itself as well')
  })

  const nodePort = run(['get', 'service', 'open', '-o', 'jsonpath={.spec.ports[0].nodePort}'])
  const fromMachine = async (url: string): Promise<string> =>
    fetch(url, { headers: { connection: 'close' } }).then(
      (answer) => answer.text(),
      (error) => error.cause.code,
    )

  await t.test('from outside', async (t) => {
    const unused = ownServiceRange.replace('.0/24', '.250')
    t.match(await fromMachine(`http://${web}`), /^web-/, 'the machine reaches a cluster IP')
    t.equal(await fromMachine(`http://${clusterIP('nobody')}`), 'ECONNREFUSED')
    t.equal(await fromMachine(`http://${unused}`), 'ENETUNREACH', 'the address of no Service')
    t.match(await fromMachine(`http://127.0.0.1:${nodePort}`), /^web-/, 'and a node port')
    const clientIP = run(['get', 'pod', 'client', '-o', 'jsonpath={.status.podIP}'])
    const address = run(['get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[0].address}'])
    for (const url of [`http://${address}:${nodePort}`, 'http://192.0.2.7'])
      t.ok(node(asks(url)).endsWith(clientIP), `${url}: a pod reaches a node port and an external address`)
    t.equal(node(asks('http://machine')), 'machine', 'a pod of the machine’s network is behind a Service')
    const inMachine = (url: string) => run(['exec', 'machine', '--', process.execPath, '-e', asks(url)])
    t.match(inMachine('http://web'), /^web-/, 'and reaches Services by their names')
    t.equal(inMachine('http://machine'), 'machine', 'and itself')
    const echoPort = Number(run(['get', 'service', 'open', '-o', 'jsonpath={.spec.ports[1].nodePort}']))
    t.match(await echoFromMachine(echoPort), /^web-.* hello$/, 'datagrams, too')
    run(['delete', 'service', 'open'])
    const closed = async () => (await fromMachine(`http://127.0.0.1:${nodePort}`)) === 'ECONNREFUSED'
    await until(closed, { what: 'the node port to be closed' })
    const free = createSocket('udp4').bind(echoPort)
    await once(free, 'listening')
    free.close()
  })

  await t.test('a new network of the node', async (t) => {
    process.kill(Number(readFileSync(join(cluster.stateDir, 'kubelet', 'runtime', 'shim.pid'), 'utf8')), 'SIGKILL')
    const both = (): boolean => {
      try {
        return hosts('http://web').length === 2
      } catch {
        return false // the client begins again, too
      }
    }
    await until(both, { what: 'both pods to answer in the new network', timeoutMs: 60_000 })
    t.match(await fromMachine(`http://${web}`), /^web-/, 'the machine finds the way again')
  })

  await t.test('datagrams of one socket find another pod when theirs leaves', async (t) => {
    const config = `--kubeconfig=${cluster.kubeconfig}`
    const client = spawn(kubectl.file, [config, 'exec', 'client', '--', process.execPath, '-e', keepAsking, web])
    t.teardown(() => client.kill())
    let said = ''
    client.stdout.on('data', (text) => (said += text))
    const answers = () => said.split('\n').filter(Boolean)
    const pod = await until(() => answers()[0], { what: 'the first answer' })
    run(['exec', pod, '--', 'touch', '/tmp/unready'])
    await until(() => answers().length > 1, { what: 'the other pod to answer', timeoutMs: 15_000 })
    t.not(answers()[1], pod)
    run(['exec', pod, '--', 'rm', '/tmp/unready'])
    client.kill()
    await until(() => addresses('each').length === 2, { what: 'both pods to be ready again' })
  })

  await t.test('a pod that is no more ready leaves', async (t) => {
    const [pod = ''] = run(['get', 'pods', '-l', 'app=web', '-o', 'name']).split('\n')
    run(['exec', pod, '--', 'touch', '/tmp/unready'])
    await until(() => addresses('each').length === 1, { what: 'one address' })
    await until(() => hosts('http://web').length === 1, { what: 'one pod to answer' })
    t.notOk(hosts('http://web').includes(pod.replace('pod/', '')))
    run(['exec', pod, '--', 'rm', '/tmp/unready'])
    await until(() => addresses('each').length === 2, { what: 'two addresses again' })
    await until(() => hosts('http://web').length === 2, { what: 'two pods to answer again' })
  })
})

/** Resolves to the answer to a datagram that is sent to a port of this machine, again and again. */
async function echoFromMachine(port: number): Promise<string> {
  const socket = createSocket('udp4')
  try {
    const answer = new Promise<string>((resolve) => socket.once('message', (words) => resolve(String(words))))
    let found: string | undefined
    void answer.then((words) => (found = words))
    const ask = () => {
      socket.send('hello', port, '127.0.0.1')
      return found
    }
    return await until(ask, { what: 'an answer by datagram' })
  } finally {
    socket.close()
  }
}
