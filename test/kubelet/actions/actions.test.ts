import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Action, ActionOptions, ActionTarget } from '../../../kubelet/actions/action.ts'
import { createActions } from '../../../kubelet/actions/actions.ts'
import { createSimulatedRuntime } from '../../../kubelet/runtime/simulated.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { issueCertificate } from '../../../shared/pki/certificate.ts'
import { until } from '../../harness/until.ts'

const hook: ActionOptions = { userAgent: 'kube-lifecycle/1.36', purpose: 'hook' }
const probe: ActionOptions = { userAgent: 'kube-probe/1.36', purpose: 'probe', timeoutMs: 10_000 }
const target: ActionTarget = {
  runtime: createSimulatedRuntime({ clock: realClock }),
  containerId: 'none',
  podIP: '127.0.0.1',
  ports: [],
}
const actions = createActions(realClock)
const run = (action: Action, options: ActionOptions, where: Partial<ActionTarget> = {}) =>
  actions.run(action, { ...target, ...where }, options)

/** A server that keeps the bytes of each request and answers with the next of `answers`; the last one again and again. */
async function rawServer(t: Test, ...answers: (string | undefined)[]) {
  const requests: Buffer[] = []
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data: Buffer) => {
      requests.push(data)
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      if (answer !== undefined) socket.end(answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, requests }
}
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello'
const linesOf = (request: Buffer | undefined): string[] => (request?.toString('latin1') ?? '').trimEnd().split('\r\n')
async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

t.test('no connection outlives its hook or probe, though the server would keep it', async (t) => {
  const sockets: net.Socket[] = []
  const keep = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello'
  const answers = {
    whole: keep,
    redirected: keep.replace('200 OK', '302 Found\r\nLocation: /'),
    endless: keep.replace('5', '100000').replace('hello', 'x'.repeat(20_000)),
  }
  const answer = (socket: net.Socket) => (data: Buffer) => {
    const [, name = ''] = /^GET \/(\w*)/.exec(data.toString('latin1')) ?? []
    socket.write(answers[name as keyof typeof answers] ?? keep)
  }
  const server = net.createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  for (const path of Object.keys(answers))
    for (const options of [hook, probe])
      t.match(await run({ httpGet: { port, path: `/${path}` } }, options), { outcome: 'success' }, path)
  t.equal(sockets.length, 8, 'each on a connection of its own')
  await until(() => sockets.every(({ destroyed }) => destroyed), {
    what: 'the connections to be closed',
    timeoutMs: 2_000,
  })
})

t.test('what a hook and a probe send, byte for byte', async (t) => {
  const { port, requests } = await rawServer(t, ok)
  const path = '/drain?now=1'
  t.match(await run({ httpGet: { port, path } }, hook), { outcome: 'success', httpStatus: 200, output: 'hello' })
  t.match(await run({ httpGet: { port } }, probe), { outcome: 'success' })
  t.same(linesOf(requests[0]), [
    'GET /drain?now=1 HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'User-Agent: kube-lifecycle/1.36',
    'Accept: */*',
    'Accept-Encoding: gzip',
    ...linesOf(requests[0]).slice(5),
  ])
  t.same(linesOf(requests[1]), [
    'GET / HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'User-Agent: kube-probe/1.36',
    'Accept: */*',
    'Connection: close',
  ])
})

t.test(
  'headers: of the user, of the caller instead of theirs, in raw UTF-8, and those that an empty value takes away',
  async (t) => {
    const { port, requests } = await rawServer(t, ok)
    const httpHeaders = [
      { name: 'x-twice', value: 'a' },
      { name: 'x-twice', value: 'b' },
      { name: 'kube-pod-term-reason', value: 'a lie' },
      { name: 'Host', value: 'example.com' },
      { name: 'User-Agent', value: '' },
      { name: 'accept', value: '' },
    ]
    const headers = { 'KUBE-POD-TERM-REASON': 'Größe 完' }
    await run({ httpGet: { port, httpHeaders } }, { ...hook, headers })
    const lines = linesOf(requests[0])
    for (const line of ['X-Twice: a', 'X-Twice: b', 'Host: example.com']) t.ok(lines.includes(line), line)
    t.same(
      lines.filter((line) => /^kube-pod-term-reason/i.test(line)).map((line) => Buffer.from(line, 'latin1').toString()),
      ['KUBE-POD-TERM-REASON: Größe 完'],
      'once, and the given value',
    )
    t.notOk(lines.some((line) => /^(user-agent|accept):/i.test(line)))
  },
)

t.test('what counts as success', async (t) => {
  const failing = await rawServer(t, 'HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy')
  const outcomes: [status: number, outcome: string][] = [
    [200, 'success'],
    [399, 'success'],
    [400, 'failure'],
    [599, 'failure'],
  ]
  for (const [status, outcome] of outcomes) {
    const { port } = await rawServer(t, `HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`)
    t.match(await run({ httpGet: { port } }, probe), { outcome }, 'a status from 200 to 399 is success')
  }
  t.match(await run({ httpGet: { port: failing.port } }, hook), { outcome: 'success', httpStatus: 503 })
  t.match(await run({ httpGet: { port: failing.port } }, probe), {
    outcome: 'failure',
    message: 'HTTP probe failed with statuscode: 503',
  })
  const free = await freePort()
  t.match(await run({ httpGet: { port: free } }, probe), {
    outcome: 'failure',
    message: `Get "http://127.0.0.1:${free}/": dial tcp 127.0.0.1:${free}: connect: connection refused`,
  })
  const silent = await rawServer(t, undefined)
  t.match(await run({ httpGet: { port: silent.port } }, { ...probe, timeoutMs: 100 }), {
    outcome: 'timeout',
    message: `Get "http://127.0.0.1:${silent.port}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  })
  const giving = await rawServer(t, '')
  t.match(await run({ httpGet: { port: giving.port } }, hook), { outcome: 'failure', message: /: EOF$/ })
})

t.test('ports by name, and names that are none', async (t) => {
  const { port } = await rawServer(t, ok)
  const ports = [{ name: 'web', containerPort: port }]
  t.match(await run({ httpGet: { port: 'web' } }, probe, { ports }), { outcome: 'success' })
  t.match(await run({ httpGet: { port: String(port) } }, probe), { outcome: 'success' })
  t.match(await run({ httpGet: { port: 'nope' } }, probe, { ports }), {
    outcome: 'error',
    message: 'strconv.Atoi: parsing "nope": invalid syntax',
  })
  t.match(await run({ tcpSocket: { port: 70_000 } }, probe), {
    outcome: 'error',
    message: 'invalid port number: 70000',
  })
})

t.test('redirects: on the same host only, ten of them', async (t) => {
  const redirect = (location: string) =>
    `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmove`
  const moved = await rawServer(t, redirect('/there?x=1'), ok)
  t.match(await run({ httpGet: { port: moved.port } }, probe), { outcome: 'success', httpStatus: 200, output: 'hello' })
  t.equal(linesOf(moved.requests[1])[0], 'GET /there?x=1 HTTP/1.1')

  const away = await rawServer(t, redirect('http://example.com/'))
  t.match(await run({ httpGet: { port: away.port } }, hook), { outcome: 'success', httpStatus: 302 })
  t.match(await run({ httpGet: { port: away.port } }, probe), {
    outcome: 'success',
    warning: 'Probe terminated redirects, Response body: move',
  })

  const circle = await rawServer(t, redirect('/'))
  t.match(await run({ httpGet: { port: circle.port } }, probe), {
    outcome: 'failure',
    message: /: stopped after 10 redirects$/,
  })
  t.equal(circle.requests.length, 11)
})

t.test(
  'TLS: any certificate will do; a hook’s server without TLS is asked without it, and without the credentials',
  async (t) => {
    const pair = issueCertificate({
      commonName: 'nobody',
      usage: 'server',
      notBefore: '2020-01-01T00:00:00Z',
      notAfter: '2021-01-01T00:00:00Z',
    })
    const server = https.createServer(pair, (_request, response) => response.end('secret'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    t.match(await run({ httpGet: { port, scheme: 'HTTPS' } }, probe), { outcome: 'success', output: 'secret' })

    const plain = await rawServer(t, ok)
    const httpHeaders = [{ name: 'Authorization', value: 'Bearer x' }]
    const fallback = await run({ httpGet: { port: plain.port, scheme: 'HTTPS', httpHeaders } }, hook)
    t.match(fallback, { outcome: 'success', output: 'hello' })
    t.notOk(fallback.warning, 'a real kubelet tells nobody')
    const again = linesOf(plain.requests.at(-1))
    t.equal(again[0], 'GET / HTTP/1.1')
    t.notOk(again.some((line) => line.startsWith('Authorization')))
    t.match(await run({ httpGet: { port: plain.port, scheme: 'HTTPS' } }, probe), {
      outcome: 'failure',
      message: `Get "https://127.0.0.1:${plain.port}/": http: server gave HTTP response to HTTPS client`,
    })
  },
)

t.test('a body without end is not read to its end', async (t) => {
  const { port } = await rawServer(t, `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1_000_000)}`)
  const { output } = await run({ httpGet: { port } }, probe)
  t.equal(output.length, 10 * 1024)
})

t.test('tcpSocket, sleep, and nothing at all', async (t) => {
  const { port } = await rawServer(t, ok)
  t.match(await run({ tcpSocket: { port } }, probe), { outcome: 'success' }, 'an open port is success')
  const closing = net.createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => closing.close())
  const atOnce = { tcpSocket: { port: (closing.address() as AddressInfo).port } }
  t.match(await run(atOnce, probe), { outcome: 'success' }, 'so is one that is closed at once')
  const free = await freePort()
  t.match(
    await run({ tcpSocket: { port: free } }, probe),
    {
      outcome: 'failure',
      message: `dial tcp 127.0.0.1:${free}: connect: connection refused`,
    },
    'a closed port is failure',
  )
  t.match(await run({ sleep: { seconds: 0 } }, hook), { outcome: 'success' })
  t.match(await run({ sleep: { seconds: 100 } }, { ...hook, signal: AbortSignal.abort() }), {
    outcome: 'error',
    message: 'container terminated before sleep hook finished',
  })
  t.match(await run({}, hook), { outcome: 'error' })
})

t.test('exec, in the words of events', async (t) => {
  const runtime = createSimulatedRuntime({
    clock: realClock,
    exec: (_container, command) =>
      command[0] === 'slow' ? { durationMs: 60_000 } : { exitCode: Number(command[1] ?? 0), output: 'said\n' },
  })
  const sandbox = await runtime.startSandbox({
    podUid: 'u',
    namespace: 'default',
    name: 'p',
    hostNetwork: false,
    hostname: 'p',
    shareProcessNamespace: false,
    annotations: {},
  })
  const { id } = await runtime.startContainer({
    sandboxId: sandbox.id,
    name: 'c',
    attempt: 0,
    image: 'x',
    imageId: 'x',
    command: ['x'],
    env: {},
    path: [],
    logPath: '',
    stdin: false,
    tty: false,
    annotations: {},
  })
  t.teardown(() => runtime.close())
  const exec = (command: string[], options: ActionOptions) =>
    run({ exec: { command } }, options, { runtime, containerId: id })
  t.match(await exec(['fine'], hook), { outcome: 'success', exitCode: 0, output: 'said\n' })
  t.match(await exec(['bad', '3'], hook), { outcome: 'failure', message: "command 'bad 3' exited with 3: said\n" })
  const apart = {
    ...runtime,
    execSync: async () => ({ outcome: 'exited', exitCode: 3, output: 'out\nbad\n', errors: 'bad\n' }) as const,
  }
  t.match(
    await run({ exec: { command: ['bad'] } }, hook, { runtime: apart as unknown as typeof runtime, containerId: id }),
    { outcome: 'failure', message: "command 'bad' exited with 3: bad\n", output: 'out\nbad\n' },
    'a hook’s message holds its errors alone',
  )
  t.match(await exec(['fine'], probe), { outcome: 'success', exitCode: 0 }, 'exit code 0 is success')
  t.match(await exec(['bad', '3'], probe), { outcome: 'failure', exitCode: 3, message: 'said\n' }, 'another is failure')
  t.match(await exec(['slow', 'one'], { ...probe, timeoutMs: 50 }), {
    outcome: 'timeout',
    message: 'command timed out: "slow one" timed out after 0.05s',
  })
})

t.test('gRPC health: serving, not serving, unknown to the server, not there', async (t) => {
  const server = createHttp2Server()
  const asked: string[] = []
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const service = Buffer.concat(chunks).subarray(7).toString()
      asked.push(`${headers[':path']} ${service}`)
      const status = service === 'sick' ? 2 : 1
      const code = { unimplemented: '12', absent: '5', malformed: '13' }[service]
      if (code) {
        stream.respond(
          {
            ':status': 200,
            'grpc-status': code,
            'grpc-message': service === 'malformed' ? '100%' : 'unknown%20service',
          },
          { endStream: true },
        )
        return
      }
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(Buffer.from([0, 0, 0, 0, 2, 0x08, status]))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  t.match(await run({ grpc: { port } }, probe), { outcome: 'success' }, 'SERVING is success')
  t.match(
    await run({ grpc: { port, service: 'sick' } }, probe),
    {
      outcome: 'failure',
      message: 'service unhealthy (responded with "NOT_SERVING")',
    },
    'NOT_SERVING is failure',
  )
  t.match(await run({ grpc: { port, service: 'unimplemented' } }, probe), {
    outcome: 'failure',
    message: 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service',
  })
  t.match(await run({ grpc: { port, service: 'absent' } }, probe), {
    outcome: 'failure',
    message: 'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
  })
  t.match(await run({ grpc: { port, service: 'malformed' } }, probe), {
    outcome: 'failure',
    message: 'error: health rpc probe failed: rpc error: code = Internal desc = 100%',
  })
  t.same(asked, [
    '/grpc.health.v1.Health/Check ',
    '/grpc.health.v1.Health/Check sick',
    '/grpc.health.v1.Health/Check unimplemented',
    '/grpc.health.v1.Health/Check absent',
    '/grpc.health.v1.Health/Check malformed',
  ])
  let connections = 0
  server.on('connection', (socket) => {
    connections += 1
    if (connections === 1) socket.destroy()
  })
  t.match(await run({ grpc: { port } }, { ...probe, timeoutMs: 10_000 }), { outcome: 'success' }, 'the second attempt')
  t.equal(connections, 2)
  const { port: web } = await rawServer(t, ok)
  t.match(await run({ grpc: { port: web } }, { ...probe, timeoutMs: 200 }), {
    outcome: 'failure',
    message: `timeout: failed to connect service "127.0.0.1:${web}" within 0.2s: context deadline exceeded`,
  })
  const free = await freePort()
  t.match(await run({ grpc: { port: free } }, { ...probe, timeoutMs: 200 }), {
    outcome: 'failure',
    message: `timeout: failed to connect service "127.0.0.1:${free}" within 0.2s: context deadline exceeded`,
  })
})
