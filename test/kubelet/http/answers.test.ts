/** What the kubelet's HTTPS API answers, request by request: status, content type and body. */

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { text as readText } from 'node:stream/consumers'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import type { ControlledNode } from '../../../kubelet/http/control-node.ts'
import type { KubeletServerOptions } from '../../../kubelet/http/server.ts'
import { KubeletMetrics } from '../../../kubelet/metrics/kubelet-metrics.ts'
import { createImages } from '../../../kubelet/runtime/images/images.ts'
import { defaultFeatureGates } from '../../../shared/config/feature-gates.ts'
import { httpsExchange } from '../../harness/https-exchange.ts'
import { apiServer, ca, client, startNode } from './start-node.ts'

interface Answer {
  status: number
  type: string | undefined
  /** Of HEAD it is empty. A pattern where it tells what is measured. */
  body: string | RegExp
}

/** All plain text is sent with `x-content-type-options: nosniff`. */
const text = (status: number, body: string | RegExp): Answer => ({ status, type: 'text/plain; charset=utf-8', body })
const json = (body: RegExp): Answer => ({ status: 200, type: 'application/json', body })
const page = (body: RegExp): Answer => ({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body })
const log: Answer = { status: 200, type: 'text/plain', body: '' }
const notFound = text(404, '404 page not found')
const wrongMethod = text(405, 'method not allowed')
const malformed = text(400, 'malformed path')
const noUpgrade = text(400, 'Upgrade request required')
const noStreams = text(400, 'you must specify at least 1 of stdin, stdout, stderr')
const noContainer = text(400, '{"message": "Missing container name."}')
const noEntry = text(400, 'an entry needs a pattern, and a command, a path or a stopSignal')
const long = 'x'.repeat(500)
const podList = /^\{"kind":"PodList","apiVersion":"v1","metadata":\{\},"items":\[\{.*\}\]\}$/

/** The requests that get each answer: a method and a path. */
const answers: [Answer, string[]][] = [
  [text(200, 'ok'), ['GET /healthz', 'GET /healthz/', 'GET //healthz', 'GET /healthz/ping', 'GET /%68ealthz']],
  [text(200, 'ok'), ['GET /healthz?x=%zz', 'POST /debug/node/lose', 'POST /debug//node//return/']],
  [text(200, 'ok'), ['PUT /debug/pressure/memory', 'DELETE /debug/pressure/memory']],
  [notFound, ['GET /', 'GET //', 'GET /nope', 'GET /HEALTHZ', 'GET /healthz;x', 'GET /a%2Fb', 'GET /constructor']],
  [notFound, ['GET /stats', 'GET /stats/nope', 'GET /stats/summary/x', 'GET /configz/x', 'GET /logs', 'GET /*']],
  [notFound, ['GET /metrics/nope', 'GET /metrics/probes/x', 'GET /metrics/*', 'GET http://node/healthz']],
  [notFound, ['GET /exec', 'GET /exec/ns/web', 'POST /exec/ns', 'GET /exec/ns/web/u/c/x', 'GET /Exec/ns/web/c']],
  [notFound, ['GET /attach/ns/web', 'GET /portForward', 'POST /portForward/ns', 'GET /portForward/ns/web/u/x']],
  [notFound, ['GET /debug', 'HEAD /debug', 'PUT /debug/', 'POST /debug/nope', 'PROPFIND /debug/nope', 'QUERY /debug']],
  [
    notFound,
    ['GET /debug/pprof/heap', 'GET /debug/images/x', 'PUT /debug/clock/x', 'GET /debug/node', 'GET /debug%2Fnode'],
  ],
  [notFound, ['POST /debug/node/toString', 'POST /debug/node/lose/x', 'PUT /debug/pressure/memory/x']],
  [
    wrongMethod,
    ['HEAD /healthz', 'HEAD /nope', 'POST /', 'POST /pods', 'PUT /pods/x', 'DELETE /nope', 'PATCH /configz'],
  ],
  [wrongMethod, ['OPTIONS /pods', 'TRACE /pods', 'QUERY /pods', 'PROPFIND /pods', 'M-SEARCH /metrics', 'OPTIONS *']],
  [wrongMethod, ['POST /containerLogs', 'POST /containerLogs/ns/web/c', 'PUT /exec', 'HEAD /exec/ns/web/c']],
  [wrongMethod, ['PUT /exec/ns/web/c', 'PROPFIND /portForward/ns/web', 'DELETE /attach/a/b/c/d/e']],
  [wrongMethod, ['POST /debug/images', 'HEAD /debug/images', 'GET /debug/clock', 'PROPFIND /debug/clock?moved=5']],
  [wrongMethod, ['GET /debug/node/lose', 'PROPFIND /debug/%6Eode/lose', 'POST /debug/pressure/memory']],
  [malformed, ['GET /%zz', 'POST /healthz/%', 'GET /%E4%BD', 'HEAD /exec/%', 'PUT /debug/%c3%28', 'GET /a#%zz']],
  [json(podList), ['GET /pods', 'GET /pods/', 'GET /pods/x', 'GET /runningpods/', 'GET /runningpods/x/y']],
  [json(/^\{"port":true\}$/), ['GET /configz', 'GET /configz/']],
  [page(/^# HELP kubelet_active_pods .*\n$/s), ['GET /metrics', 'GET /metrics/']],
  [page(/^# HELP process_start_time_seconds .*\n$/s), ['GET /metrics/probes', 'GET /metrics/%70robes']],
  [page(/^# HELP container_cpu_usage_seconds_total /), ['GET /metrics/resource', 'GET /metrics/cadvisor']],
  [json(/^\{"node":\{"nodeName":"n",/), ['GET /stats/summary', 'GET /stats/summary/']],
  [noContainer, ['GET /containerLogs', 'GET /containerLogs/ns', 'GET /containerLogs/ns/web/']],
  [log, ['GET /containerLogs/ns/web/c', 'GET /containerLogs//ns/%77eb//c/', 'GET /containerLogs/ns/web/c/more']],
  [text(404, `pod "${long}" does not exist`), [`GET /containerLogs/ns/${long}/c`]],
  [text(404, 'pod "a/b" does not exist'), ['GET /containerLogs/ns/a%2Fb/c', 'GET /containerLogs/ns/a%2fb/c']],
  [text(404, 'pod "a%2Fb" does not exist'), ['GET /containerLogs/ns/a%252Fb/c']],
  [text(404, 'pod "a?b#c;d" does not exist'), ['GET /containerLogs/ns/a%3Fb#c;d/c']],
  [text(404, 'container "你" not found in pod "web"'), ['GET /containerLogs/ns/web/%E4%BD%A0']],
  [text(400, '{"message": "Unable to decode query."}'), ['GET /containerLogs/ns/web/c?tailLines=x']],
  [noStreams, ['GET /exec/ns/web/c', 'POST /exec/ns/web/c?command=x', 'GET /attach/ns/web/c']],
  [text(400, 'you must specify a command'), ['GET /exec/ns/web/c?output=1']],
  [noUpgrade, ['GET /exec/ns/web/c?command=x&output=1', 'POST /exec//ns/web/u/c/?command=x&output=1']],
  [noUpgrade, ['POST /attach/ns/web/c?output=1', 'GET /portForward/ns/web', 'POST /portForward/ns/web/u']],
  [text(404, 'pod not found'), ['GET /exec/ns/web/v/c?command=x&output=1', 'GET /portForward/ns/web/v']],
  [text(404, 'pod does not exist'), [`GET /exec/ns/${long}/c?command=x&output=1`, 'GET /portForward/ns/no']],
  [text(500, 'container not found ("nope")'), ['GET /exec/ns/web/nope?command=x&output=1']],
  [json(/^\{"items":\[\{"pattern":"pause",/), ['GET /debug/images', 'GET /debug/images/']],
  [json(/^\{"image":"A B","entries":\[\]/), ['GET /debug/images?image=A%20B']],
  [text(404, '"nope" is not there'), ['DELETE /debug/images?pattern=nope']],
  [json(/^\{"nextMs":7\}$/), ['PUT /debug/clock?moved=5', 'PUT /debug/clock/?moved=9&last=true']],
  [text(400, 'moved must be a number of milliseconds'), ['PUT /debug/clock', 'PUT /debug/clock?moved=x']],
  [text(404, /^unknown signal "nope"; /), ['PUT /debug/pressure/nope', 'GET /debug/pressure/nope']],
  [text(404, /^unknown signal "x{500}"; /), [`PUT /debug/pressure/${long}`]],
  [text(400, /^available /), ['PUT /debug/pressure/memory?available=much']],
]

/** Of a node without images, metrics, a clock of its own or a configuration, and whose kubelet has not begun. */
const answersOfBareNode: [Answer, string[]][] = [
  [notFound, ['GET /metrics', 'GET /metrics/probes', 'GET /stats/summary', 'GET /configz']],
  [wrongMethod, ['POST /metrics', 'POST /configz']],
  [text(404, 'this node runs no programs: any image will do'), ['GET /debug/images', 'PROPFIND /debug/images']],
  [text(503, 'the time of this node is not its own'), ['PUT /debug/clock?moved=5']],
  [text(503, 'the kubelet is not ready'), ['POST /debug/node/nope', 'GET /debug/node/lose', 'PUT /debug/pressure/x']],
]

/** A connection that is cut has no answer. */
const cut = [
  'GET /healthz',
  'GET /nope',
  'POST /pods',
  'GET /exec/ns/web/c',
  'GET /containerLogs/ns/web/c',
  'GET /metrics',
]
const answersOfLostNode: [Answer, string[]][] = [
  [text(200, 'ok'), ['POST /debug/node/return']],
  [notFound, ['GET /debug', 'POST /debug/nope']],
  [json(/^\{"items":/), ['GET /debug/images']],
  [malformed, ['GET /%zz']],
]

const entry = JSON.stringify({ pattern: 'my/*', command: ['/bin/true'] })
const added = json(/^\{"items":\[\{"pattern":"my\/\*","command":\["\/bin\/true"\],"origin":"added"\},/)
const put = 'PUT /debug/images'
/** Requests with a body, whatever its media type. */
const bodies: [Answer, string, string][] = [
  [added, put, entry],
  [json(/^\{"items":\[\{"pattern":"bom",/), put, '\ufeff{"pattern":"bom","path":"/x"}'],
  [text(400, 'the entry is not valid JSON'), put, ''],
  [text(400, 'the entry is not valid JSON'), put, '{'],
  [noEntry, put, 'null'],
  [noEntry, put, '{"pattern":"a","command":[]}'],
  [text(413, 'the entry is too long'), put, JSON.stringify({ pattern: 'x'.repeat(65_536) })],
  [wrongMethod, 'POST /debug/images', entry],
  [wrongMethod, 'POST /pods', entry],
  [wrongMethod, 'QUERY /pods', entry],
  [text(200, 'ok'), 'POST /debug/node/lose', entry],
  [text(200, 'ok'), 'DELETE /debug/pressure/memory', entry],
  [text(200, 'ok'), 'GET /healthz', entry],
  [json(/^\{"nextMs":7\}$/), 'PUT /debug/clock?moved=1', entry],
  [noUpgrade, 'POST /exec/ns/web/c?command=x&output=1', entry],
]
const mediaTypes = ['application/json', 'nonsense', '', 'a/b;;;=', undefined]

const forbidden = (verb: string, subresources: string): Answer =>
  text(403, `Forbidden (user=somebody, verb=${verb}, resource=nodes, subresource(s)=[${subresources}])`)
const answersOfUser: [Answer, string[]][] = [
  [forbidden('get', 'healthz proxy'), ['GET /healthz', 'GET //%68ealthz?x', 'HEAD /healthz']],
  [forbidden('get', 'pods proxy'), ['GET /pods', 'GET /runningpods/x', 'GET /p%6Fds']],
  [forbidden('get', 'metrics'), ['GET /metrics/x']],
  [forbidden('get', 'stats'), ['GET /stats']],
  [forbidden('get', 'log'), ['GET /logs/x']],
  [forbidden('get', 'proxy'), ['GET /nope', 'GET /', 'GET /constructor', 'GET /containerLogs/ns/web/c']],
  [forbidden('create', 'proxy'), ['POST /exec/ns/web/c', 'POST /debug/node/lose']],
  [forbidden('update', 'proxy'), ['PUT /debug/images']],
  [forbidden('', 'configz proxy'), ['PROPFIND /configz', 'OPTIONS /configz']],
  [malformed, ['GET /%zz']],
]

const spdy = { upgrade: 'SPDY/3.1' }
const exec = '/exec/ns/web/c?command=x&output=1'
/** Requests for another protocol that are refused. */
const upgrades: [Answer, string, Record<string, string>][] = [
  [notFound, 'GET /healthz', { upgrade: 'h2c' }],
  [notFound, 'POST /nope', { upgrade: 'websocket' }],
  [notFound, 'POST /debug/node/lose', { upgrade: 'h2c' }],
  [notFound, 'GET /exec/ns/web', spdy],
  [malformed, 'GET /%zz', { upgrade: 'h2c' }],
  [noUpgrade, `GET ${exec}`, { upgrade: 'h2c' }],
  [noUpgrade, 'GET /portForward/ns/web', { upgrade: 'h2c' }],
  [text(400, 'X-Stream-Protocol-Version header is required'), `GET ${exec}`, spdy],
  [text(403, /^unable to upgrade: /), `PUT ${exec}`, { ...spdy, 'x-stream-protocol-version': 'v9' }],
  [text(400, /^unable to negotiate /), `GET ${exec}`, { upgrade: 'websocket', 'sec-websocket-protocol': 'v9' }],
  [text(500, 'container not found ("no")'), 'GET /exec/ns/web/no?command=x&output=1', spdy],
]

const agent = new Agent({ keepAlive: true })
t.teardown(() => agent.destroy())

async function ask(request: string, options: RequestOptions, body?: string) {
  const [method, path] = request.split(' ')
  const answer = await httpsExchange(
    { host: '127.0.0.1', method, path, ca: ca.cert, agent, ...apiServer, ...options },
    body,
  )
  const { headers, status, bytes } = answer
  return {
    status,
    type: headers['content-type'],
    sniff: headers['x-content-type-options'],
    body: bytes.toString(),
    headers,
  }
}

async function check(t: Test, request: string, answer: Answer, options: RequestOptions, body?: string): Promise<void> {
  const { status, type, sniff, body: found } = await ask(request, options, body)
  const expected = request.startsWith('HEAD ') ? '' : answer.body
  const isText = answer.type !== 'application/json' && answer !== log
  const about = `${options.headers ? JSON.stringify(options.headers) : ''} ${request.slice(0, 80)}`
  t.same(
    { status, type, sniff },
    { status: answer.status, type: answer.type, sniff: isText ? 'nosniff' : undefined },
    about,
  )
  if (typeof expected === 'string') t.equal(found, expected, about)
  else t.match(found, expected, about)
}

async function checkAll(t: Test, table: [Answer, string[]][], options: RequestOptions): Promise<void> {
  for (const [answer, requests] of table) for (const request of requests) await check(t, request, answer, options, '')
}

const fullNode = (isLost: boolean): Partial<KubeletServerOptions> => {
  const act = () => {}
  const controls = { shutDown: act, lose: act, comeBack: act }
  const eviction = { induce: act, release: act }
  const node = { controls, eviction, isLost: () => isLost, reboot: act } as unknown as ControlledNode
  return {
    node: () => node,
    images: createImages({ commands: {}, paths: {}, stopSignals: {} }),
    time: { moveTo: async () => 7 },
    configz: (port) => ({ port: port > 0 }),
    metrics: {
      metrics: new KubeletMetrics(),
      limits: { families: () => [] },
      nodeName: 'n',
      rootDir: '/tmp',
      featureGates: defaultFeatureGates,
    },
  }
}

t.test('each request has its answer', async (t) => {
  const { port } = await startNode(t, fullNode(false))
  await checkAll(t, answers, { port })
  for (const [answer, request, headers] of upgrades) {
    await check(t, request, answer, { port, headers: { connection: 'Upgrade', ...headers } })
  }
  await t.test('with a body of any media type', async (t) => {
    for (const [answer, request, body] of bodies) {
      for (const type of mediaTypes) {
        await check(t, request, answer, { port, headers: type === undefined ? {} : { 'content-type': type } }, body)
      }
    }
  })
  await t.test('of a stranger, and of a user without rights', async (t) => {
    const known = answers.flatMap(([answer, requests]) => (answer === malformed ? [] : requests))
    for (const request of [...known, put]) {
      await check(t, request, text(401, 'Unauthorized'), { port, cert: '', key: '' }, '')
    }
    await checkAll(t, answersOfUser, { port, ...client('somebody', 'people') })
  })
})

t.test('a node that lacks what it may lack', async (t) => {
  const { port } = await startNode(t)
  await checkAll(t, answersOfBareNode, { port })
})

t.test('a node that is lost cuts all connections but those of its controls', async (t) => {
  const { port } = await startNode(t, fullNode(true))
  await checkAll(t, answersOfLostNode, { port })
  for (const request of cut) await t.rejects(ask(request, { port }), { code: 'ECONNRESET' }, request)
  for (const [, request, headers] of upgrades.filter(([answer]) => answer !== malformed)) {
    const wanted = ask(request, { port, headers: { connection: 'Upgrade', ...headers } })
    await t.rejects(wanted, { code: 'ECONNRESET' }, `${request} for another protocol`)
  }
  const user = client('somebody', 'people')
  await check(t, 'GET /pods', forbidden('get', 'pods proxy'), { port, ...user }, undefined)
})

t.test('the protocols that a refused upgrade could have had', async (t) => {
  const { port } = await startNode(t)
  const headers = { connection: 'Upgrade', ...spdy, 'x-stream-protocol-version': 'v9' }
  const { headers: found } = await ask(`GET ${exec}`, { port, headers })
  t.match(found, {
    'x-accepted-stream-protocol-versions': 'v4.channel.k8s.io, v3.channel.k8s.io, v2.channel.k8s.io, channel.k8s.io',
    connection: 'close',
  })
})

t.test('an entry of an image is bounded also where its length is not announced', async (t) => {
  const { port } = await startNode(t, fullNode(false))
  const send = async (body: string) => {
    const sent = request({ host: '127.0.0.1', port, method: 'PUT', path: '/debug/images', ca: ca.cert, ...apiServer })
    sent.write(body)
    sent.end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: response.statusCode, body: await readText(response) }
  }
  t.match(await send(entry), { status: 200, body: added.body })
  const tooLong = JSON.stringify({ pattern: 'x'.repeat(65_536), path: '/x' })
  t.same(await send(tooLong), { status: 413, body: 'the entry is too long' })
})

t.test('bytes that are no request', async (t) => {
  const { port } = await startNode(t)
  const answerTo = async (bytes: string): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port, ca: ca.cert, ...apiServer })
    let answer = ''
    socket.setEncoding('latin1').on('data', (part: string) => {
      answer += part
    })
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    socket.write(bytes)
    await once(socket, 'close')
    return answer
  }
  const bad = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'
  for (const bytes of ['GARBAGE\r\n\r\n', 'GET /a b HTTP/1.1\r\n\r\n']) t.equal(await answerTo(bytes), bad, bytes)
  t.match(await answerTo(`GET /${long.repeat(40)} HTTP/1.1\r\n\r\n`), /^HTTP\/1.1 431 .*\r\nConnection: close\r\n\r\n$/)
})
