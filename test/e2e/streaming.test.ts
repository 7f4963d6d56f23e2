import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Attach, Exec, KubeConfig, PortForward, type V1Status } from '@kubernetes/client-node'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, type Kubectl, kubectl } from '../harness/kubectl.ts'
import { followPod, isReady, podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const cluster = await startTestCluster(t)
const { client, kubeconfig } = cluster
const namespace = 'default'
const echoPort = 18_080

async function startPod(pod: Pod): Promise<void> {
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name: pod.metadata.name! })
  await followed.until(isReady, 'to be ready')
}

/** Sends back what it gets. */
const echo = `require('net').createServer({ allowHalfOpen: true }, (s) => s.pipe(s)).listen(${echoPort}, process.env.POD_IP)`
await Promise.all([
  startPod(podOf({ name: 'ticking', command: ['sh', '-c', 'while :; do echo tick; sleep 0.05; done'] })),
  startPod(
    podOf({
      name: 'echo',
      command: [process.execPath, '-e', echo],
      readinessProbe: { tcpSocket: { port: echoPort }, periodSeconds: 1 },
      env: [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
    }),
  ),
])

const versions = findKubectls()
if (!versions.length) skipOrFail(t, 'no kubectl on this machine')
for (const version of versions) {
  t.test(`kubectl ${version.version}`, async (t) => {
    const run = (args: string[], input?: string) => kubectl(t, version, kubeconfig, args, input)
    t.test('exec', async (t) => {
      const failing = await run(['exec', 'ticking', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3'])
      t.match(failing, { code: 3, stdout: 'out\n' }, 'the exit code is the command’s')
      t.match(failing.stderr, /^err\n/m)
      t.match(failing.stderr, 'command terminated with exit code 3')
      const text = randomBytes(1 << 20).toString('base64')
      t.equal((await run(['exec', '-i', 'ticking', '--', 'cat'], text)).stdout, text, 'what goes in comes out')
      t.match(await run(['exec', 'ticking', '--', 'no-such-command']), {
        code: 1,
        stderr: /exec: "no-such-command": executable file not found in \$PATH/,
      })
      t.match(await run(['exec', 'absent', '--', 'ls']), { code: 1, stderr: 'pods "absent" not found' })
    })
    t.test('attach to a new pod', async (t) => {
      const name = `run-${version.version.replace('.', '-')}`
      const options = ['-i', '--rm', '--quiet', '--image=busybox', '--restart=Never']
      const answer = await run(['run', name, ...options, '--', 'sh', '-c', 'sort; sleep 0.2'], 'b\na\n')
      t.match(answer, { code: 0, stdout: /^a\nb\n/ })
    })
    t.test('port-forward', async (t) => {
      const port = await forwardedPort(t, version)
      const text = randomBytes(1 << 20)
      t.same(await roundTrip(port, text), text)
      t.same(await roundTrip(port, Buffer.from('again')), Buffer.from('again'), 'several times')
    })
  })
}

t.test('@kubernetes/client-node', async (t) => {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)

  t.test('exec', async (t) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const status = Promise.withResolvers<V1Status>()
    const command = ['sh', '-c', 'cat; echo err >&2; exit 7']
    await new Exec(config).exec(
      ...([namespace, 'ticking', 'main', command, stdout, stderr, stdin, false, status.resolve] as const),
    )
    stdin.end('in\n')
    t.match(await status.promise, { status: 'Failure', reason: 'NonZeroExitCode' })
    t.same([String(stdout.read()), String(stderr.read())], ['in\n', 'err\n'])
  })
  t.test('attach', async () => {
    const stdout = new PassThrough()
    const socket = await new Attach(config).attach(namespace, 'ticking', 'main', stdout, null, null, false)
    await until(() => stdout.read()?.toString().includes('tick'), { what: 'output' })
    socket.close()
  })
  t.test('port-forward', async (t) => {
    const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const socket = await new PortForward(config).portForward(namespace, 'echo', [echoPort], output, errors, input)
    input.write('over channels')
    t.equal(String((await once(output, 'data'))[0]), 'over channels')
    ;(socket as { close(): void }).close()
  })
})

t.test('a log through a WebSocket: its bytes, or their base64; refusals come before the handshake', async (t) => {
  const { server, ca, cert, key } = cluster.access
  const open = (query: string, protocols: string[]) => {
    const url = `${server.replace('https', 'wss')}/api/v1/namespaces/${namespace}/pods/ticking/log?${query}`
    const socket = new WebSocket(url, protocols, { ca, cert, key })
    socket.on('error', () => {})
    t.teardown(() => socket.terminate())
    const messages: { data: Buffer; isBinary: boolean }[] = []
    socket.on('message', (data: Buffer, isBinary) => messages.push({ data, isBinary }))
    return { socket, messages }
  }
  const read = async (protocols: string[]) => {
    const { socket, messages } = open('tailLines=2', protocols)
    const [code] = await once(socket, 'close')
    t.equal(code, 1000, 'the end of the log closes it')
    const [first, ...rest] = messages
    t.equal(first?.data.length, 0, 'an empty message comes first')
    const binary = new Set(rest.map(({ isBinary }) => isBinary))
    return { protocol: socket.protocol, text: rest.map(({ data }) => data.toString()).join(''), binary: [...binary] }
  }
  t.same(await read(['binary.k8s.io']), { protocol: 'binary.k8s.io', text: 'tick\ntick\n', binary: [true] })
  const text = Buffer.from('tick\ntick\n').toString('base64')
  t.same(await read(['base64.binary.k8s.io']), { protocol: 'base64.binary.k8s.io', text, binary: [false] })
  t.same(await read([]), { protocol: '', text: 'tick\ntick\n', binary: [true] })

  const following = open('follow=true', ['chat', 'binary.k8s.io'])
  await until(() => Buffer.concat(following.messages.map(({ data }) => data)).includes('tick'), { what: 'its lines' })
  following.socket.close()
  await once(following.socket, 'close')

  for (const [query, protocols, status] of [
    ['', ['chat'], 403],
    ['container=none', ['binary.k8s.io'], 400],
    ['tailLines=-1', ['binary.k8s.io'], 422],
  ] as const) {
    const { socket } = open(query, [...protocols])
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
    t.equal(answer.statusCode, status)
    answer.resume()
  }
})

/** Where kubectl listens for the pod `echo`. */
async function forwardedPort(t: Test, { file }: Kubectl): Promise<number> {
  const args = ['--kubeconfig', kubeconfig, 'port-forward', 'pod/echo', `:${echoPort}`]
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  const port = await until(() => /127\.0\.0\.1:(\d+)/.exec(output)?.[1], { what: 'kubectl to listen' })
  return Number(port)
}

async function roundTrip(port: number, data: Buffer): Promise<Buffer> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  socket.end(data)
  return buffer(socket)
}
