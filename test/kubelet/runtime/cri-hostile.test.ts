/** Container runtimes that hang, answer nonsense or break off: the kubelet gets errors with words, and no crash. */

import { once } from 'node:events'
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { createServer as createSocket } from 'node:net'
import t, { type Test } from 'tap'
import { openNodeRuntime } from '../../../kubelet/node-runtimes.ts'
import type { ContainerRuntime } from '../../../kubelet/runtime/container-runtime.ts'
import { CriClient } from '../../../kubelet/runtime/cri/api/client.ts'
import { Codec } from '../../../kubelet/runtime/cri/api/codec.ts'
import { messages } from '../../../kubelet/runtime/cri/api/messages.ts'
import { createCriRuntime, lookAtRuntime } from '../../../kubelet/runtime/cri/index.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { frame } from '../../../shared/grpc/framing.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { until } from '../../harness/until.ts'

type Answer = (stream: ServerHttp2Stream) => void
const codec = new Codec(messages)
const calls = /^\/runtime\.v1\.(?:Runtime|Image)Service\//

const answer =
  (name: keyof typeof messages, message: object): Answer =>
  (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(frame(codec.encode(name, message)))
  }
const refuse =
  (code: number, text: string): Answer =>
  (stream) =>
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(code), 'grpc-message': text },
      { endStream: true },
    )
const bytes =
  (...parts: Buffer[]): Answer =>
  (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
    for (const part of parts) stream.write(part)
  }
const hang: Answer = () => {}

/** What a runtime without any container says. */
const empty: Record<string, Answer> = {
  Version: answer('VersionResponse', { runtimeName: 'fake', runtimeVersion: '1.2.3' }),
  Status: answer('StatusResponse', {}),
  RuntimeConfig: refuse(12, 'unknown method'),
  GetContainerEvents: refuse(12, 'unknown method'),
  ListPodSandbox: answer('ListPodSandboxResponse', {}),
  ListContainers: answer('ListContainersResponse', {}),
}

interface Fake {
  endpoint: string
  answers: Record<string, Answer>
  /** Ends all connections. */
  drop(): void
}

let count = 0
async function fakeRuntime(t: Test, answers: Record<string, Answer>): Promise<Fake> {
  const path = `${scratchFolder(t, 'fake-cri')}/${++count}.sock`
  const fake: Fake = { endpoint: `unix://${path}`, answers: { ...empty, ...answers }, drop: () => {} }
  const server: Http2Server = createServer()
  const sessions = new Set<ServerHttp2Session>()
  fake.drop = () => {
    for (const session of sessions) session.destroy()
  }
  server.on('session', (session) => void sessions.add(session.on('error', () => {})))
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    const name = String(headers[':path']).replace(calls, '')
    const given = fake.answers[name] ?? refuse(12, `unknown method ${name}`)
    stream.resume()
    given(stream as ServerHttp2Stream)
  })
  server.listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    fake.drop()
    server.close()
  })
  return fake
}

const warnings: string[] = []
async function runtimeAt(t: Test, { endpoint }: Fake): Promise<ContainerRuntime> {
  const rootDir = scratchFolder(t, 'fake-cri-root')
  const warn = (message: string) => void warnings.push(message)
  const runtime = await createCriRuntime({ endpoint, rootDir, nodeIP: '127.0.0.1', clock: realClock, warn })
  t.teardown(() => runtime.close())
  return runtime
}

const pod = { podUid: 'p', namespace: 'default', name: 'p', hostname: 'p', hostNetwork: false }
const sandbox = { ...pod, shareProcessNamespace: false, annotations: {} }

t.test('what is no runtime is told at the start', async (t) => {
  const folder = scratchFolder(t, 'no-cri')
  const look = (endpoint: string) => lookAtRuntime(endpoint, realClock)
  await t.rejects(look(`unix://${folder}/none`), /Unavailable desc = connect ENOENT/)
  const other = createSocket((socket) => socket.end('220 mail.example.com ESMTP\r\n')).listen(`${folder}/mail`)
  t.teardown(() => other.close())
  await t.rejects(look(`unix://${folder}/mail`), /rpc error: code = Unavailable/)
  const silent = createSocket(() => {}).listen(`${folder}/silent`)
  t.teardown(() => silent.close())
  await t.rejects(look(`unix://${folder}/silent`), /no connection within 2 s/)
  const old = await fakeRuntime(t, { Version: refuse(12, 'unknown service runtime.v1.RuntimeService') })
  await t.rejects(look(old.endpoint), /Unimplemented desc = unknown service runtime.v1.RuntimeService/)
  const config = {
    runtime: `cri:unix://${folder}/none`,
    rootDir: folder,
    containerLogMaxSize: '1Mi',
    containerLogMaxFiles: 2,
  }
  const opened = openNodeRuntime({ config, clock: realClock, log: {} } as never)
  await t.rejects(opened, { name: 'ConfigError', message: /^--runtime cri:unix:\S+\/none does not answer: / })
})

t.test('answers that are no messages', async (t) => {
  const nonsense = await fakeRuntime(t, {})
  const client = new CriClient(nonsense.endpoint, realClock)
  t.teardown(() => client.close())
  const version = (given: Answer) => {
    nonsense.answers.Version = given
    return client.call('version', {}, { timeoutMs: 2_000 })
  }
  const trailers: Answer = (stream) => stream.respond({ ':status': 200, 'grpc-status': '0' }, { endStream: true })
  await t.rejects(version(trailers), /the answer is empty/)
  const broken: Answer = (stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(frame(Buffer.from('ffffffffffffffffffffff', 'hex')))
  }
  await t.rejects(version(broken), /Internal desc = what came is no VersionResponse/)
  await t.rejects(
    version(bytes(Buffer.of(0, 0xff, 0xff, 0xff, 0xff))),
    /Internal desc = a message of 4294967295 bytes is larger/,
  )
  await t.rejects(version(bytes(Buffer.of(1, 0, 0, 0, 0))), /came compressed/)
  await t.rejects(
    version(bytes(Buffer.of(0, 0, 0, 0, 9, 1))),
    /DeadlineExceeded desc = no answer within 2 s/,
    'half of one',
  )
  await t.rejects(version(hang), /DeadlineExceeded/)
  await t.rejects(
    version((stream) => stream.session?.destroy()),
    /Unavailable/,
  )
  await t.rejects(
    version((stream) => stream.respond({ ':status': 404 }, { endStream: true })),
    /HTTP status 404/,
  )
  t.match(await version(empty.Version as Answer), { runtimeName: 'fake' }, 'the next call is another one')
})

t.test('a runtime that goes and comes back', async (t) => {
  const fake = await fakeRuntime(t, {})
  const runtime = await runtimeAt(t, fake)
  t.equal(runtime.problem?.(), undefined)
  fake.answers.ListPodSandbox = refuse(14, 'shutting down')
  fake.drop()
  await until(() => runtime.problem?.(), { what: 'the problem to be seen' })
  t.match(runtime.problem?.(), /^container runtime is down: rpc error: code = Unavailable desc = shutting down$/)
  await t.rejects(runtime.list(), /shutting down/)
  fake.answers.ListPodSandbox = empty.ListPodSandbox as Answer
  await until(() => runtime.problem?.() === undefined, { what: 'the runtime to be found again' })
  t.same(
    warnings,
    ['the container runtime does not answer', 'the container runtime answers again'],
    'each is said once',
  )
})

t.test('events that are none', async (t) => {
  const event = (id: string) => frame(codec.encode('ContainerEventResponse', { containerId: id }))
  const flood = Array.from({ length: 5_000 }, (_, index) => event(`none-${index}`))
  let asked = 0
  const list = empty.ListContainers as Answer
  const counted: Answer = (stream) => {
    asked++
    list(stream)
  }
  const fake = await fakeRuntime(t, {
    GetContainerEvents: bytes(Buffer.concat(flood), frame(Buffer.from('ffffffffffffffffffffff', 'hex'))),
    ListContainers: counted,
  })
  const runtime = await runtimeAt(t, fake)
  await until(() => asked > 1, { what: 'the events to be looked at' })
  t.ok(asked < 2_000, 'not each of them')
  t.same(await runtime.list(), { sandboxes: [], containers: [] })
})

t.test('what a runtime says of pods', async (t) => {
  const id = 'a'.repeat(64)
  const made = { id, podSandboxId: 's', state: 1, labels: {}, annotations: { 'kubestage.dev/given': '{not json' } }
  const box = { id: 's', metadata: { name: 'n', uid: 'u', namespace: 'ns' }, annotations: { __proto__: null, x: 'y' } }
  const fake = await fakeRuntime(t, {
    ListContainers: answer('ListContainersResponse', { containers: [made] }),
    ListPodSandbox: answer('ListPodSandboxResponse', { items: [box] }),
    ContainerStatus: answer('ContainerStatusResponse', { status: { id, state: 1 }, info: { info: '[' } }),
    PodSandboxStatus: answer('PodSandboxStatusResponse', {}),
    RunPodSandbox: refuse(2, 'no network'),
    CreateContainer: refuse(2, 'no image'),
    ExecSync: refuse(2, 'no such process'),
    Exec: answer('StreamUrl', { url: 'ftp://example.com/' }),
    Attach: answer('StreamUrl', { url: 'http://127.0.0.1:1/' }),
    PortForward: answer('StreamUrl', { url: '' }),
    ImageStatus: answer('ImageStatusResponse', { image: { id: 'i' }, info: { info: '{}' } }),
    StopContainer: refuse(2, 'it does not end'),
  })
  const runtime = await runtimeAt(t, fake)
  const { sandboxes, containers } = await runtime.list()
  t.match(sandboxes, [{ id: 's', podUid: 'u', namespace: 'ns', name: 'n', state: 'ready', ip: '127.0.0.1' }])
  t.match(containers, [{ id, state: 'running', logPath: '', pid: 0 }])
  await t.rejects(runtime.startSandbox(sandbox), /Unknown desc = no network/)
  const config = { sandboxId: 's', name: 'c', attempt: 0, image: 'i', imageId: 'i', command: [], env: {}, path: [] }
  const start = runtime.startContainer({
    ...config,
    logPath: `${scratchFolder(t, 'fake-log')}/0.log`,
    stdin: false,
    tty: false,
    annotations: {},
  })
  await t.rejects(start, { reason: 'CreateContainerError', message: /no image/ })
  t.match(await runtime.execSync(id, { command: ['x'] }), { outcome: 'failed', message: /no such process/ })
  await t.rejects(
    runtime.exec(id, { command: ['x'], stdin: false, tty: false }),
    /a URL for the stream that is not http/,
  )
  await t.rejects(runtime.attach(id), /ECONNREFUSED/)
  await t.rejects(runtime.portForward('s', 80), /not http/)
  await t.rejects(runtime.resolveImage('busybox', { policy: 'IfNotPresent' }), /does not tell the command of image i/)
  await t.rejects(runtime.resolveImage('A', { policy: 'IfNotPresent' }), /couldn't parse image name "A"/)
  await t.rejects(runtime.stopContainer(id, { signal: 'SIGTERM', gracePeriodMs: 10 }), /it does not end/)
  t.match(runtime.capabilities(), { execEnv: false }, 'only containerd takes variables for a command')
})
