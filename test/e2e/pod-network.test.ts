/** `--network pod`: each pod has a network of its own, as applications of a real cluster expect. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { linkName } from '../../kubelet/runtime/process/network/machine-link.ts'
import type { Node, Pod } from '../../shared/api/types.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { kubeletPid, startCommand, startTestCluster } from '../harness/cluster.ts'
import { ownPodRange } from '../harness/own-pod-range.ts'
import { podNetworkTools } from '../harness/pod-network-tools.ts'
import { getText, isReady, podOf } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const prefix = ownPodRange.replace(/0\/24$/, '')
const server = (code: number, words: string) => [
  process.execPath,
  '-e',
  `process.on('SIGTERM', () => process.exit(0)); require('http').createServer((request, response) => { if (request.url === '/bye') console.log('bye from ' + request.socket.remoteAddress); response.writeHead(${code}).end('${words}') }).listen(80)`,
]
const readinessProbe = { httpGet: { path: '/', port: 80 }, periodSeconds: 1 }
const askApi = `const fs = require('fs'); const at = '/var/run/secrets/kubernetes.io/serviceaccount/'; const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env; require('https').get({ host, port, path: '/apis', ca: fs.readFileSync(at + 'ca.crt'), headers: { authorization: 'Bearer ' + fs.readFileSync(at + 'token') } }, (answer) => { console.log(host, answer.statusCode); process.exit() })`
const askIssuer = `const fs = require('fs'); const at = '/var/run/secrets/kubernetes.io/serviceaccount/'; const token = fs.readFileSync(at + 'token', 'utf8'); const { iss } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url')); require('https').get(iss + '/.well-known/openid-configuration', { ca: fs.readFileSync(at + 'ca.crt'), headers: { authorization: 'Bearer ' + token } }, (answer) => { console.log(iss, answer.statusCode); process.exit() })`

t.test('a cluster whose pods have networks', async (t) => {
  const kubectl = await podNetworkTools(t)
  if (!kubectl) return
  const cluster = await startTestCluster(t, '--network=pod', `--cluster-cidr=${ownPodRange}`)
  const { client, stateDir } = cluster
  const link = linkName(join(stateDir, 'kubelet', 'runtime'))
  const create = (name: string, command: string[], more: Partial<Parameters<typeof podOf>[0]> = {}) =>
    client.create(pods, podOf({ name, command, ...more }), { namespace })
  const read = (name: string) => client.get<Pod>(pods, { namespace, name })
  const when = (name: string, is: (pod: Pod) => boolean, what: string): Promise<Pod> =>
    until(
      async () => {
        const pod = await read(name)
        return is(pod) ? pod : undefined
      },
      { what: `${name} ${what}` },
    )
  const inPod = (name: string, ...command: string[]): string =>
    execFileSync(kubectl.file, [`--kubeconfig=${cluster.kubeconfig}`, 'exec', name, '--', ...command], {
      encoding: 'utf8',
      timeout: 20_000,
    })
  const ask = (ip = '') => [process.execPath, '-e', `fetch('http://${ip}/').then((a) => a.text()).then(console.log)`]
  const addressOf = async (name: string) => (await read(name)).status?.podIP ?? ''

  await create('good', server(200, 'good'), {
    readinessProbe,
    preStop: { httpGet: { port: 80, path: '/bye' } },
    spec: { securityContext: { sysctls: [{ name: 'net.ipv4.ip_local_port_range', value: '4000 4100' }] } },
  })
  await create('bad', server(503, 'bad'), { readinessProbe })
  const good = await when('good', isReady, 'to be ready')
  const bad = await when('bad', ({ status }) => status?.phase === 'Running', 'to run')
  const unhealthy = () => cluster.client.list<{ message?: string }>({ ...pods, plural: 'events' }, { namespace })
  await until(async () => (await unhealthy()).items.some(({ message }) => message?.includes('statuscode: 503')), {
    what: 'the failed probe of the other, which listens on the same port',
  })
  t.notOk(isReady(await read('bad')))
  t.same(
    [good, bad].map(({ status }) => status?.podIP?.startsWith(prefix)),
    [true, true],
  )
  const node = await client.get<Node>(nodes, { name: 'node-1' })
  t.match(node.spec, { podCIDR: ownPodRange, podCIDRs: [ownPodRange] })
  t.match(node.metadata.labels, { 'kubestage.dev/network': 'pod' })

  t.equal(inPod('bad', ...ask(good.status?.podIP)).trim(), 'good', 'a pod reaches another')
  t.equal(inPod('good', ...ask('127.0.0.1')).trim(), 'good', 'exec is in the network of the pod')
  t.equal(inPod('good', process.execPath, '-e', askApi).trim(), '10.96.0.1 200', 'a pod reaches the API server')
  const issuer = 'https://kubernetes.default.svc.cluster.local'
  t.equal(inPod('good', process.execPath, '-e', askIssuer).trim(), `${issuer} 200`, 'and who signs its token')
  t.equal(inPod('good', 'cat', '/proc/sys/net/ipv4/ip_local_port_range').trim(), '4000\t4100')
  t.match(inPod('good', 'cat', '/etc/hosts'), `${good.status?.podIP}\tgood\n`)
  const fromMachine = (ip = ''): Promise<string> =>
    new Promise((resolve, reject) => {
      get(`http://${ip}/`, (answer) => text(answer).then(resolve, reject)).on('error', reject)
    })
  t.equal(await fromMachine(good.status?.podIP), 'good', 'the machine reaches pods at their addresses')
  t.equal(await fromMachine(bad.status?.podIP), 'bad')
  t.equal(await getText(cluster, `/api/v1/namespaces/default/pods/good:80/proxy/`), 'good', 'so does the API server')

  await t.test('a pod of the machine’s network', async (t) => {
    await create('host', ['sleep', '1000'], { spec: { hostNetwork: true } })
    const { status } = await when('host', isReady, 'to be ready')
    t.equal(status?.podIP, status?.hostIP)
    const links = inPod('host', 'ls', '/sys/class/net').split('\n').filter(Boolean)
    t.ok(links.includes(link), 'it has the links of the machine')
    const found = inPod('host', 'sh', '-c', 'echo $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT').trim()
    t.equal(`https://${found}`, cluster.access.server)
  })

  await t.test('a kubelet that is killed', async (t) => {
    const before = (await read('good')).status?.containerStatuses?.[0]?.containerID
    process.kill(kubeletPid(cluster), 'SIGKILL')
    t.equal(await fromMachine(good.status?.podIP), 'good', 'pods keep their networks')
    await cluster.process.printed('the kubelet ended (SIGKILL) and starts again')
    await create('later', server(200, 'later'), { readinessProbe })
    await when('later', isReady, 'to be ready')
    t.equal((await read('good')).status?.containerStatuses?.[0]?.containerID, before)
    t.equal(inPod('later', ...ask(good.status?.podIP)).trim(), 'good')
    const works = () => inPod('good', process.execPath, '-e', askApi).trim()
    t.equal(await until(works, { what: 'the API server in the network' }), '10.96.0.1 200')
  })

  await t.test('hooks reach the pod in its network', async () => {
    const path = '/api/v1/namespaces/default/pods/good/log?follow=true'
    const log = getText(cluster, path)
    await client.delete(pods, { namespace, name: 'good' })
    t.match(await log, `bye from ::ffff:${prefix}1\n`)
  })

  await t.test('many pods come and go', async (t) => {
    const shim = readFileSync(join(stateDir, 'kubelet', 'runtime', 'shim.pid'), 'utf8').trim()
    const held = () => readdirSync(`/proc/${shim}/fd`).length
    const names = Array.from({ length: 50 }, (_, index) => `many-${index}`)
    await until(async () => (await read('good').catch(() => undefined)) === undefined, { what: 'good to be gone' })
    const before = held()
    const spec = { terminationGracePeriodSeconds: 0 }
    await Promise.all(names.map((name) => create(name, ['sleep', '1000'], { spec })))
    const all = async () =>
      (await client.list<Pod>(pods, { namespace })).items.filter(({ metadata }) => metadata.name?.startsWith('many'))
    await until(async () => (await all()).every(isReady), { what: '50 pods to be ready' })
    const ips = new Set((await all()).map(({ status }) => status?.podIP))
    t.equal(ips.size, 50)
    await Promise.all(names.map((name) => client.delete(pods, { namespace, name })))
    await until(async () => (await all()).length === 0 && held() <= before, { what: 'nothing to be held of them' })
  })

  await t.test('a shim that is killed takes all networks along, and pods get others', async (t) => {
    const ip = await addressOf('later')
    const shim = () => Number(readFileSync(join(stateDir, 'kubelet', 'runtime', 'shim.pid'), 'utf8'))
    process.kill(shim(), 'SIGKILL')
    const again = await when(
      'later',
      ({ status }) => status?.podIP !== ip && isReady({ status } as Pod),
      'to run again',
    )
    t.equal(await fromMachine(again.status?.podIP), 'later')
    const works = () => inPod('later', process.execPath, '-e', askApi).trim()
    t.equal(await until(works, { what: 'the API server in the new network' }), '10.96.0.1 200')
  })

  await cluster.process.stop()
  t.notOk(readdirSync('/sys/class/net').includes(link), 'nothing is left on the machine')
})

t.test('what --network pod cannot go with', async (t) => {
  const folder = t.testdir()
  const run = startCommand(t, ['up', '--port=0', `--state-dir=${folder}`, '--network=pod', '--isolation=none'])
  t.not(await run.ended, 0)
  t.match(run.output(), '--network pod cannot be had on this machine: pods have no namespaces here (isolation none)')
})
