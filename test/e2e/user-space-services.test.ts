/** Services with `--network pod` where the machine has no `nft`: the kubelet itself passes on what goes to them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { LostRequests, Termination } from '../../shared/api/termination.ts'
import { cli, startProgram } from '../harness/cluster.ts'
import { ownPodRange, ownServiceRange } from '../harness/own-pod-range.ts'
import { podNetworkTools } from '../harness/pod-network-tools.ts'
import { podOf } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const server = `process.on('SIGTERM', () => process.exit())
require('http').createServer((request, response) => response.end(process.env.HOSTNAME)).listen(8080)
const echo = require('dgram').createSocket('udp4').bind(5353)
echo.on('message', (text, { port, address }) => echo.send(process.env.HOSTNAME + ' ' + text, port, address))`
/** Prints the answers to requests in succession, each by a connection of its own; or the code of an error. */
const asks = (url: string, count = 1): string =>
  `const { get } = require('http'); const next = (left) => left && get('${url}', { agent: false }, (answer) => answer.on('data', (text) => console.log(String(text))).on('end', () => next(left - 1))).on('error', ({ code }) => console.log(code)); next(${count})`
const asksOn = `setInterval(() => require('http').get('http://web', { agent: false }, (answer) => answer.resume()).on('error', () => {}), 50)`
const askEcho = `const socket = require('dgram').createSocket('udp4'); socket.on('message', (text) => { console.log(String(text)); process.exit() }); socket.send('hello', 53, 'web'); setTimeout(() => process.exit(1), 5000)`
const pod = (name: string, app: string, command: string[]) => {
  const { metadata, spec } = podOf({ name, command })
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, labels: { app } }, spec }
}
const ports = [
  { name: 'http', port: 80, targetPort: 8080 },
  { name: 'echo', port: 53, targetPort: 5353, protocol: 'UDP' },
]
const service = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: 'web' }, ports, ...spec },
})
/** A cluster that runs beside this one has chosen the first free ones of the same machine. */
const nodePort = 31_000 + (process.pid % 1_700)
const serve = [process.execPath, '-e', server]
const items = [
  pod('one', 'web', serve),
  pod('two', 'web', serve),
  pod('client', 'client', ['sleep', '1000']),
  pod('asker', 'asker', [process.execPath, '-e', asksOn]),
  service('web'),
  service('sticky', { sessionAffinity: 'ClientIP' }),
  service('open', { type: 'NodePort', ports: [{ port: 80, targetPort: 8080, nodePort }] }),
  service('nobody', { selector: { app: 'nobody' } }),
]
/** So many hit each of two pods, but for one of a million times. */
const REQUESTS = 21

t.test('a machine without nft', async (t) => {
  const kubectl = await podNetworkTools(t)
  if (!kubectl) return
  const nft = spawnSync('which', ['nft'], { encoding: 'utf8' }).stdout.trim()
  const hidden = ['--mount', 'sh', '-c', 'mount --bind /dev/null "$0" && exec "$@"', nft]
  if (spawnSync('unshare', [...hidden, 'true']).status !== 0) return skipOrFail(t, 'no file can be hidden here')
  const stateDir = join(scratchFolder(t, 'user-space'), 'state')
  const ranges = [`--cluster-cidr=${ownPodRange}`, `--service-cidr=${ownServiceRange}`]
  const up = [
    process.execPath,
    cli,
    'up',
    '--port=0',
    '--network=pod',
    '--endpoint-lag=2s',
    ...ranges,
    `--state-dir=${stateDir}`,
  ]
  await startProgram(t, [...hidden, ...up], { node: 'unshare' }).printed('is ready')
  const run = (args: string[], input?: object): string =>
    execFileSync(kubectl.file, [`--kubeconfig=${join(stateDir, 'kubeconfig')}`, ...args], {
      encoding: 'utf8',
      timeout: 90_000,
      input: JSON.stringify(input),
    }).trim()
  run(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items })
  run(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=60s'])
  const node = (code: string): string => run(['exec', 'client', '--', process.execPath, '-e', code])
  const hosts = (url: string, count = REQUESTS): string[] => [...new Set(node(asks(url, count)).split('\n'))].sort()
  await until(() => ['one', 'two'].includes(node(asks('http://web'))), { what: 'an answer by the name of the Service' })
  t.same(hosts('http://web'), ['one', 'two'], 'each pod answers')
  t.equal(hosts('http://sticky').length, 1, 'a client comes back to the same pod')
  t.match(node(askEcho), /^(one|two) hello$/, 'by datagrams')
  t.equal(node(asks('http://nobody')), 'ECONNREFUSED', 'without an endpoint')
  t.equal(node(asks('http://web:81')), 'ECONNREFUSED', 'a port that the Service does not have')
  const fromMachine = (url: string) => fetch(url, { headers: { connection: 'close' } }).then((answer) => answer.text())
  t.match(await fromMachine(`http://127.0.0.1:${nodePort}`), /^(one|two)$/, 'a node port')
  const ip = run(['get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}'])
  t.match(await fromMachine(`http://${ip}`), /^(one|two)$/, 'the machine reaches a cluster IP')
  const lost = async (): Promise<LostRequests[] | undefined> => {
    const { items } = JSON.parse(run(['get', 'terminations', '-o', 'json'])) as { items: Termination[] }
    return items.find(({ podName }) => podName === 'one')?.lostRequests
  }
  run(['delete', 'pod', 'one', '--now'])
  await until(() => hosts('http://web').join() === 'two', { what: 'the pod that is left to answer alone' })
  for (const { kind, count } of await until(lost, { what: 'what was lost at the pod to be told' }))
    t.ok(/^(refused|reset|unreachable)$/.test(kind) && count > 0, `${count} ${kind}`)
  run(['delete', 'service', 'web'])
  await until(() => hosts(`http://${ip}`, 1).join() === 'ECONNREFUSED', { what: 'the Service to be gone' })
  const log = readFileSync(join(stateDir, 'logs', 'kubelet.log'), 'utf8')
  t.equal(log.split('the kubelet itself passes on what goes to Services').length, 2, 'the log says so, once')
})
