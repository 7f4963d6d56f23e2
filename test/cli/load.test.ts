/** `kubestage load`: which pods clients of a Service know, what becomes of a request, and what is counted. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { chosen, type Endpoint, type Here, podEndpoints, sliceEndpoints } from '../../cli/load/endpoints.ts'
import { Latencies } from '../../cli/load/latencies.ts'
import { intervalLines } from '../../cli/load/lines.ts'
import { Pace } from '../../cli/load/pace.ts'
import { reportOf, tableOf } from '../../cli/load/report.ts'
import { type Sample, send } from '../../cli/load/request.ts'
import { Tally } from '../../cli/load/tally.ts'
import { parseTarget, podPort, servicePort } from '../../cli/load/target.ts'
import { byRecord } from '../../cli/load/terminations.ts'
import type { Pod, Service } from '../../shared/api/types.ts'
import type { EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

t.test('targets', (t) => {
  t.same(parseTarget('svc/shop'), { kind: 'service', name: 'shop' })
  t.same(parseTarget('deployments/shop.v2'), { kind: 'deployment', name: 'shop.v2' })
  t.same(parseTarget('po/a'), { kind: 'pod', name: 'a' })
  for (const text of ['shop', 'svc/', 'svc/Shop', 'job/a', 'svc/a/b', '__proto__/a', 'http://example.com/'])
    t.throws(() => parseTarget(text), { name: 'UsageError', message: /invalid target ".*"; use svc\/NAME/ }, text)
  t.end()
})

t.test('ports', (t) => {
  const service = (ports: object[], spec: object = {}): Service =>
    ({ metadata: { name: 'shop' }, spec: { ports, ...spec } }) as Service
  const web = { name: 'web', port: 80 }
  const dns = { name: 'dns', port: 53, protocol: 'UDP' }
  t.same(servicePort(service([{ port: 80 }]), ''), { name: '', port: 80 })
  t.same(servicePort(service([dns, web]), ''), { name: 'web', port: 80 }, 'the only one for HTTP')
  t.same(servicePort(service([web, { name: 'admin', port: 81 }]), '81'), { name: 'admin', port: 81 })
  const refused = (wanted: string, ports: object[], message: RegExp, spec?: object) =>
    t.throws(() => servicePort(service(ports, spec), wanted), { name: 'ConfigError', message })
  refused('', [web, { name: 'admin', port: 81 }], /has ports web \(80\), admin \(81\): choose one with --port$/)
  refused('http', [web], /^Service shop has no port http; it has web \(80\)$/)
  refused('dns', [web, dns], /^port dns \(53\) of Service shop is UDP: requests are HTTP over TCP$/)
  refused('', [dns], /is UDP/)
  refused('', [], /declares no port/)
  refused('', [web], /alias of example\.com \(type ExternalName\)/, {
    type: 'ExternalName',
    externalName: 'example.com',
  })
  const pod = {
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'c', ports: [{ name: 'web', containerPort: 8080 }] }] },
  }
  t.equal(podPort(pod as Pod, ''), 8080)
  t.equal(podPort(pod as Pod, 'web'), 8080)
  t.equal(podPort(pod as Pod, '9'), 9, 'a pod listens where it likes')
  t.throws(() => podPort(pod as Pod, 'x'), { message: /^pod a has no port x; it has web \(8080\)$/ })
  t.end()
})

const here: Here = { server: '127.0.0.1', addresses: new Set(['192.0.2.7']) }
const podAt = (name: string, podIP: string, { hostIP = '127.0.0.1', ...metadata }: Record<string, string> = {}): Pod =>
  ({
    metadata: { name, uid: `uid-${name}`, ...metadata },
    spec: { containers: [], nodeName: 'node-1' },
    status: { podIP, hostIP, phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }) as unknown as Pod

t.test('only pods of this cluster get requests', (t) => {
  const pods = new Map(
    [podAt('a', '127.64.0.2'), podAt('far', '127.64.0.9', { hostIP: '192.0.2.99' })].map((pod) => [
      pod.metadata.name,
      pod,
    ]),
  )
  const endpoint = (name: string, address: string, conditions: object = { ready: true }): object => ({
    addresses: [address],
    conditions,
    targetRef: { kind: 'Pod', name, uid: `uid-${name}` },
  })
  const found = (...endpoints: object[]): Endpoint[] => {
    const slice = {
      addressType: 'IPv4',
      ports: [
        { name: 'web', port: 8080 },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
      endpoints,
    }
    const podOf = (name: string) => pods.get(name)
    return sliceEndpoints([slice as EndpointSlice], { portName: 'web', podOf, here })
  }
  t.match(found(endpoint('a', '127.64.0.2')), [{ pod: 'a', address: '127.64.0.2', port: 8080, isReady: true }])
  t.same(found(endpoint('a', '169.254.169.254')), [], 'an address that is not the pod’s')
  t.same(found({ addresses: ['10.0.0.1'] }), [], 'an address without a pod')
  t.same(
    found({ ...endpoint('a', '127.64.0.2'), targetRef: { kind: 'Pod', name: 'a', uid: 'another' } }),
    [],
    'a pod that is gone',
  )
  const [far] = found(endpoint('far', '127.64.0.9'))
  t.equal(far?.elsewhere, 'pod far on node node-1', 'the same address means another pod here')
  t.same(chosen([far!]), [])
  const remote = { ...here, server: 'k8s.example.com' }
  t.ok(
    podEndpoints([podAt('a', '127.64.0.2')], { portOf: () => 1, here: remote })[0]?.elsewhere,
    'an API server elsewhere',
  )
  t.notOk(
    podEndpoints([podAt('a', '10.244.7.3', { hostIP: '192.0.2.9' })], { portOf: () => 1, here: remote })[0]?.elsewhere,
  )
  t.end()
})

t.test('those that are ready; or else those that end and still serve', (t) => {
  const endpoint = (pod: string, isReady: boolean, isServing: boolean): Endpoint => ({
    ...{ pod, uid: pod, address: '127.0.0.1', port: 80, isReady, isServing },
  })
  const [ready, ending, broken] = [endpoint('a', true, true), endpoint('b', false, true), endpoint('c', false, false)]
  t.same(chosen([ready, ending, broken]), [ready])
  t.same(chosen([ending, broken]), [ending])
  t.same(chosen([broken]), [])
  const going = podAt('a', '127.64.0.2', { deletionTimestamp: '2026-01-01T00:00:00Z' })
  t.match(podEndpoints([going], { portOf: () => 1, here }), [{ isReady: false, isServing: true }])
  t.end()
})

async function outcomeOf(t: Test, serve: (socket: Socket) => void, timeoutMs = 5_000): Promise<Sample | undefined> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.once('data', () => serve(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return await send({ url: new URL(`http://127.0.0.1:${port}/`), timeoutMs }, realClock)
}

t.test('how requests end', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n'
  const ended = (text: string) => outcomeOf(t, (socket) => socket.end(text))
  t.match(await ended(`${head}0123456789`), { outcome: 'answered', kind: undefined })
  t.match(await ended('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'), { outcome: 'answered' })
  t.match(await ended('HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n'), { outcome: 'lost', kind: '5xx' })
  t.match(await ended(`${head}0123`), { outcome: 'cut', kind: 'cut' })
  t.match(await ended('SSH-2.0-OpenSSH\r\n'), { outcome: 'cut', kind: 'invalid' })
  t.match(await ended(''), { outcome: 'cut', kind: 'reset' })
  t.match(await outcomeOf(t, (socket) => void socket.resetAndDestroy()), { outcome: 'cut', kind: 'reset' })
  t.match(await outcomeOf(t, () => {}, 100), { outcome: 'cut', kind: 'timeout' })
  t.match(
    await outcomeOf(t, (socket) => void socket.write(`${head}01`), 100),
    { kind: 'timeout' },
    'an answer without an end',
  )
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  await once(closed, 'close')
  const url = new URL(`http://127.0.0.1:${port}/`)
  t.match(await send({ url, timeoutMs: 5_000 }, realClock), { outcome: 'lost', kind: 'refused' })
})

t.test('a steady pace, whatever the answers take', async (t) => {
  const clock = createVirtualClock()
  let sent = 0
  let answer = Promise.withResolvers<void>()
  const sendOne = (): Promise<void> => {
    sent++
    return answer.promise
  }
  const pace = new Pace({ clock, betweenMs: 10, mostAtOnce: 5, send: sendOne })
  await clock.advance(30)
  t.equal(sent, 4, 'none waits for an answer')
  await clock.advance(60)
  t.equal(sent, 5, 'as many as may be under way')
  t.equal(pace.skipped, 5)
  answer.resolve()
  answer = Promise.withResolvers()
  answer.resolve()
  await clock.advance(1_000)
  t.equal(sent + pace.skipped, 110)
  const stopped = pace.stop()
  await clock.advance(1_000)
  await stopped
  t.equal(sent + pace.skipped, 110, 'none after the end')
})

t.test('quantiles', (t) => {
  const latencies = new Latencies()
  t.equal(latencies.quantile(0.5), undefined)
  for (let ms = 1; ms <= 1_000; ms++) latencies.add(ms)
  for (const part of [0.01, 0.5, 0.9, 0.99, 1]) {
    const found = latencies.quantile(part)!
    t.ok(found >= part * 1_000 * 0.99 && found <= part * 1_000 * 1.03, `${part}: ${found}`)
  }
  const fast = new Latencies()
  fast.add(0)
  t.equal(fast.quantile(0.99), 0)
  t.end()
})

const lost = (startMs: number, kind: Sample['kind']): Sample => ({ startMs, endMs: startMs, outcome: 'lost', kind })

t.test('the report and its table: those that lost most come first', (t) => {
  const tally = new Tally()
  const answered = { startMs: 1_000, endMs: 1_003, outcome: 'answered' as const }
  for (let count = 0; count < 3; count++) tally.add({ name: 'web-a', uid: 'a' }, answered, 2.5)
  tally.add({ name: 'web-b', uid: 'b' }, lost(5_000, 'refused'), 1)
  tally.add({ name: 'web-b', uid: 'b' }, lost(9_000, '5xx'), 1)
  tally.add({ name: '', uid: '' }, lost(9_000, 'noEndpoint'), 0)
  const report = reportOf({ target: 'service/web', namespace: 'default', tally, seconds: 10.04, notSent: 2 })
  t.match(report, { sent: 6, answered: 3, lost: 3, losses: { refused: 1, '5xx': 1, noEndpoint: 1 }, seconds: 10 })
  t.match(report.pods, [
    { name: 'web-b', lost: 2, firstLostAt: '1970-01-01T00:00:05.000Z', lastLostAt: '1970-01-01T00:00:09.000Z' },
    { name: '', lost: 1 },
    { name: 'web-a', lost: 0, latencyMs: { p50: 2.5, p99: 2.5 } },
  ])
  t.same(tableOf(report), [
    ['POD', 'SENT', 'ANSWERED', 'LOST', 'P50', 'P99', 'KINDS'],
    ['web-b', '2', '0', '2', '–', '–', '1 refused, 1 5xx'],
    ['<none>', '1', '0', '1', '–', '–', '1 noEndpoint'],
    ['web-a', '3', '3', '0', '2.5 ms', '2.5 ms', '–'],
    ['all', '6', '3', '3', '2.5 ms', '2.5 ms', '1 refused, 1 noEndpoint, 1 5xx'],
  ])
  for (let pod = 0; pod < 2_000; pod++) tally.add({ name: `web-${pod}`, uid: `${pod}` }, answered, 1)
  t.equal(tally.pods.size, 1_001, 'memory has a bound')
  const many = reportOf({ target: 'service/web', namespace: 'default', tally, seconds: 1, notSent: 0 })
  t.match(tableOf(many).at(-2), ['… 951 more'])
  t.end()
})

t.test('lines of a record name the pod and the kinds', (t) => {
  const of = { target: 'pod/web-b', namespace: 'default', uid: 'b', service: 'web' }
  const lines = intervalLines(
    [lost(1_250, 'refused'), lost(1_210, 'refused'), lost(1_399, 'cut'), lost(1_400, '5xx')],
    {
      ...{ fromMs: 0, eachMs: 200, of },
    },
  )
  t.match(lines, [
    { at: '1970-01-01T00:00:01.200Z', ...of, lost: 3, losses: { refused: 2, cut: 1 } },
    { at: '1970-01-01T00:00:01.400Z', lost: 1, losses: { '5xx': 1 } },
  ])
  t.end()
})

t.test('lost requests belong to the last end that had begun', (t) => {
  const record = (name: string, seconds: number) => ({
    metadata: { name },
    startTime: new Date(seconds * 1_000).toISOString(),
  })
  const [first, second] = [record('first', 10), record('second', 20)]
  const at = (seconds: number, count = 1) => ({ atMs: seconds * 1_000, kind: 'refused' as const, count })
  const found = byRecord([second, first], [at(5), at(9.5), at(12, 3), { ...at(21), kind: 'cut' }])
  t.same(found.get(first), [{ kind: 'refused', count: 4 }])
  t.same(found.get(second), [{ kind: 'cut', count: 1 }])
  t.end()
})
