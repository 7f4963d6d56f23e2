import { once } from 'node:events'
import https from 'node:https'
import { type Duplex, duplexPair } from 'node:stream'
import t from 'tap'
import { WebSocket } from 'ws'
import { servePortForward } from '../../../kubelet/http/streaming/port-forward.ts'
import { parseSizes } from '../../../kubelet/http/streaming/remote-streams.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import {
  controlFrame,
  dataFrame,
  type Frame,
  flagFin,
  numbers,
  ping,
  readFrames,
  synReply,
} from '../../../shared/spdy/frames.ts'
import { createOpener } from '../../harness/spdy-opener.ts'
import { until } from '../../harness/until.ts'
import { apiServer, ca, startNode } from './start-node.ts'

const outputs = 'output=1&error=1'
const exec = `/exec/ns/web/c?command=x&${outputs}`
const success = '{"metadata":{},"status":"Success"}'
const failure = JSON.stringify({
  metadata: {},
  status: 'Failure',
  message: 'command terminated with non-zero exit code: exit status 3',
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: '3' }] },
})

interface Upgraded {
  code: number
  headers: Record<string, unknown>
  text: string
  socket?: Duplex
}

async function upgrade(
  port: number,
  path: string,
  headers: Record<string, string>,
  pair = apiServer,
): Promise<Upgraded> {
  const options = { ...pair, ca: ca.cert, agent: false as const, headers: { Connection: 'Upgrade', ...headers } }
  const request = https.request(`https://127.0.0.1:${port}${path}`, options).end()
  const { promise, resolve, reject } = Promise.withResolvers<Upgraded>()
  request.on('error', reject)
  request.on('upgrade', (answer, socket) =>
    resolve({ code: answer.statusCode ?? 0, headers: answer.headers, text: '', socket }),
  )
  request.on('response', async (answer) => {
    let text = ''
    for await (const chunk of answer) text += chunk
    resolve({ code: answer.statusCode ?? 0, headers: answer.headers, text })
  })
  return promise
}

const spdy = (protocol: string) => ({ Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': protocol })

t.test('what is refused, and how', async (t) => {
  const { port, get, runtime, id } = await startNode(t)
  t.same(await get(exec), { code: 400, text: 'Upgrade request required' })
  t.same(await get('/exec/ns/web/c?command=x'), {
    code: 400,
    text: 'you must specify at least 1 of stdin, stdout, stderr',
  })
  const v4 = spdy('v4.channel.k8s.io')
  const cases: [string, Record<string, string>, Partial<Upgraded>][] = [
    [`/exec/ns/absent/c?command=x&${outputs}`, v4, { code: 404, text: 'pod does not exist' }],
    [`/exec/ns/web/other-uid/c?command=x&${outputs}`, v4, { code: 404, text: 'pod not found' }],
    [`/attach/ns/web/new?${outputs}`, v4, { code: 500, text: 'container not found ("new")' }],
    ['/portForward/ns/absent', v4, { code: 404, text: 'pod does not exist' }],
    [exec, { Upgrade: 'SPDY/3.1' }, { code: 400, text: 'X-Stream-Protocol-Version header is required' }],
    [
      exec,
      spdy('v9.channel.k8s.io'),
      { code: 403, text: /client supports \[v9.channel.k8s.io\]/ as unknown as string },
    ],
    [exec, { Upgrade: 'h2c' }, { code: 400, text: 'Upgrade request required' }],
    ['/pods', v4, { code: 404 }],
  ]
  for (const [path, headers, answer] of cases) t.match(await upgrade(port, path, headers), answer, path)
  const refused = await upgrade(port, exec, spdy('v9.channel.k8s.io'))
  t.match(refused.headers['x-accepted-stream-protocol-versions'], /^v4\.channel\.k8s\.io, /)
  t.match(await upgrade(port, exec, v4, { cert: '', key: '' }), { code: 401 })
  await runtime.stopContainer(id, { signal: 'TERM', gracePeriodMs: 1000 })
  t.match(await upgrade(port, exec, v4), { code: 500, text: 'container is in CONTAINER_EXITED state' })
})

t.test('WebSocket: each protocol says it in its own way', async (t) => {
  const { port } = await startNode(t, { exec: () => ({ output: 'hi', exitCode: 3 }) })
  const text = 'command terminated with non-zero exit code: exit status 3'
  const base64 = (channel: number, data: string) => `${channel}${Buffer.from(data).toString('base64')}`
  const cases: [string[], string[]][] = [
    [
      ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
      ['\x01', '\x01hi', `\x03${failure}`],
    ],
    [['v4.channel.k8s.io'], ['\x01', '\x01hi', `\x03${failure}`]],
    [['v4.base64.channel.k8s.io'], ['1', base64(1, 'hi'), base64(3, failure)]],
    [['channel.k8s.io'], ['\x01', '\x01hi', `\x03${text}`]],
    [['base64.channel.k8s.io'], ['1', base64(1, 'hi'), base64(3, text)]],
    [[], ['\x01', '\x01hi', `\x03${text}`]],
  ]
  for (const [protocols, expected] of cases) {
    const socket = new WebSocket(`wss://127.0.0.1:${port}${exec}`, protocols, { ...apiServer, ca: ca.cert })
    const messages: string[] = []
    socket.on('message', (data: Buffer) => messages.push(data.toString()))
    const [code] = await once(socket, 'close')
    t.same(messages, expected, protocols.join() || 'none')
    t.equal(socket.protocol, protocols[0] ?? '')
    t.equal(code, 1000)
  }
  const stranger = new WebSocket(`wss://127.0.0.1:${port}${exec}`, ['chat'], { ...apiServer, ca: ca.cert })
  t.match(await once(stranger, 'error'), [{ message: 'Unexpected server response: 400' }])
})

t.test('SPDY: streams, the last word and pings, however the bytes are cut', async (t) => {
  const { port } = await startNode(t, { exec: () => ({ output: 'hi' }) })
  const { code, headers, socket } = await upgrade(port, exec, spdy('v5.channel.k8s.io, v4.channel.k8s.io'))
  t.match({ code, headers }, { code: 101, headers: { 'x-stream-protocol-version': 'v4.channel.k8s.io' } })
  const frames: Frame[] = []
  const ended = (async () => {
    for await (const frame of readFrames(socket!)) frames.push(frame)
  })()
  const open = createOpener()
  const opening = [await open(1, { streamtype: 'error' }, flagFin), await open(3, { streamtype: 'stdout' })]
  const last = [controlFrame(ping, numbers(7)), await open(5, { streamtype: 'stderr' })]
  for (const byte of Buffer.concat([...opening, ...last])) socket!.write(Buffer.of(byte))
  await ended
  const kinds = frames.filter((frame) => frame.type === 'control').map(({ kind }) => kind)
  t.same(kinds, [synReply, synReply, ping, synReply], 'each stream is answered, and the ping in between')
  const said = (id: number) =>
    Buffer.concat(frames.flatMap((frame) => (frame.type === 'data' && frame.streamId === id ? [frame.payload] : [])))
  t.equal(said(3).toString(), 'hi')
  t.equal(said(1).toString(), success)
  t.ok(
    frames.some((frame) => frame.type === 'data' && frame.streamId === 3 && frame.fin),
    'output ends before the connection does',
  )
})

t.test('port-forward over SPDY: why it failed, on the stream of errors', async (t) => {
  const { port } = await startNode(t)
  const { socket } = await upgrade(port, '/portForward/ns/web', spdy('portforward.k8s.io'))
  const frames: Frame[] = []
  const ended = (async () => {
    for await (const frame of readFrames(socket!)) frames.push(frame)
  })()
  const open = createOpener()
  socket!.write(await open(1, { port: '80', requestid: '0', streamtype: 'error' }))
  socket!.write(await open(3, { port: '80', requestid: '0', streamtype: 'data' }))
  socket!.write(dataFrame(3, Buffer.from('hello'), { fin: false }))
  const error = () => frames.find((frame) => frame.type === 'data' && frame.streamId === 1)?.payload.toString()
  await until(error, { what: 'the error' })
  t.match(error(), /^error forwarding port 80 to pod .*, uid u: connect ECONNREFUSED/)
  socket!.end()
  await ended
})

t.test('port-forward over SPDY: pairs that are complete are waited for no longer', async (t) => {
  const waiting = new Set<() => void>()
  const setTimer = (_: number, ring: () => void) => {
    waiting.add(ring)
    return { cancel: () => void waiting.delete(ring) }
  }
  const [client, transport] = duplexPair()
  const closed = servePortForward(transport, {
    clock: { machine: { setTimer } } as unknown as Clock,
    connect: async (port) => {
      throw new Error(`nobody at ${port}`)
    },
    describe: 'web',
  })
  const frames: Frame[] = []
  const ended = (async () => {
    for await (const frame of readFrames(client)) frames.push(frame)
  })()
  const open = createOpener()
  const errorsOf = (id: number) =>
    frames.flatMap((frame) => (frame.type === 'data' && frame.streamId === id ? [`${frame.payload}`] : [])).join('')
  client.write(await open(1, { port: '80', requestid: '0', streamtype: 'error' }))
  client.write(await open(3, { port: '80', requestid: '0', streamtype: 'data' }))
  await until(() => errorsOf(1), { what: 'the end of the first' })
  t.equal(waiting.size, 0)
  client.write(await open(5, { port: '80', requestid: '1', streamtype: 'error' }))
  await until(() => waiting.size === 1, { what: 'a pair of which one half is missing' })
  for (const ring of waiting) ring()
  await until(() => errorsOf(5), { what: 'that to be given up' })
  t.equal(errorsOf(5), 'timed out waiting for the other stream of request 1')
  client.write(await open(7, { port: '80', requestid: '2', streamtype: 'error' }))
  await until(() => waiting.size === 2, { what: 'another' })
  client.end()
  await Promise.all([ended.catch(() => {}), closed])
  t.equal(waiting.size, 1, 'the one that rang')
})

t.test('sizes of terminals', async (t) => {
  t.same(parseSizes('{"Width":80,"Height":24}{"Width":100}'), [
    { width: 80, height: 24 },
    { width: 100, height: 0 },
  ])
  for (const wrong of [
    '{"Width":"80","Height":24}',
    '{"Width":80,"Height":1.5}',
    '{"Width":65536,"Height":1}',
    '{Width}',
  ])
    t.same(parseSizes(wrong), [], wrong)
})
