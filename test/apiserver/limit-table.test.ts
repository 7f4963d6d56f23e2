/** Each row of the table of limits: it is set low and reached by a real client; the refusal, the metric and the line of the log follow. */
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants, type SecureClientSessionOptions } from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import {
  defaultLimits,
  type LimitName,
  type Limits,
  limitOptions,
  limitsOf,
  limitTable,
} from '../../apiserver/http/limits/limits.ts'
import { apiServerOptions } from '../../apiserver/options.ts'
import { flagOf, kebab } from '../../shared/config/option.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import { startTestApiServer, type TestApiServer } from '../harness/api-server.ts'
import { until } from '../harness/until.ts'
import * as http2 from './http2/raw-client.ts'

t.setTimeout(240_000)
const configMaps = '/api/v1/namespaces/default/configmaps'
const account = 'system:serviceaccount:default:default'
const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } =
  constants
const initialWindowSize = 4

interface Line {
  limit?: string
  client?: string
  user?: string
  msg: string
}

class Client {
  readonly t: Test
  readonly server: TestApiServer
  /** Of the server's log. */
  readonly lines: readonly Line[]

  constructor(t: Test, server: TestApiServer, lines: readonly Line[]) {
    this.t = t
    this.server = server
    this.lines = lines
  }

  async tcp(): Promise<Socket> {
    const socket = connectTcp(this.server.port, '127.0.0.1')
    socket.on('error', () => {}).resume()
    this.t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }

  async tls({ isKnown = true, protocol = 'h2' } = {}): Promise<TLSSocket> {
    const { ca, ...admin } = this.server.tls
    const credentials = { ca, ...(isKnown && admin), ALPNProtocols: [protocol] }
    const socket = connectTls({ port: this.server.port, host: '127.0.0.1', ...credentials })
    socket.on('error', () => {})
    this.t.teardown(() => socket.destroy())
    await once(socket, 'secureConnect')
    return socket
  }

  /** A connection that grants no window to answers. */
  async raw(isKnown = true): Promise<http2.RawClient> {
    const raw = new http2.RawClient(await this.tls({ isKnown }))
    return raw.send(http2.preface, http2.settings([[initialWindowSize, 0]]))
  }

  /** Anonymous. */
  session(options: SecureClientSessionOptions = {}): ClientHttp2Session {
    const { tls, port } = this.server
    const session = connect(`https://127.0.0.1:${port}`, { ca: tls.ca, ...options })
    session.on('error', () => {})
    this.t.teardown(() => session.destroy())
    return session
  }

  logged(name: LimitName): Promise<Line> {
    const find = (): Line | undefined => this.lines.find(({ limit }) => limit === kebab(name))
    return until(find, { what: `a line of the log about ${kebab(name)}` }) as Promise<Line>
  }

  async create(name: string, bytes: number): Promise<void> {
    const body = { metadata: { name }, data: { text: 'x'.repeat(bytes) } }
    this.t.equal((await this.server.send(configMaps, { method: 'POST', body })).status, 201)
  }

  async token(): Promise<string> {
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token'
    const { body } = await this.server.send(path, { method: 'POST', body: { spec: {} } })
    return (body as { status: { token: string } }).status.token
  }
}

const ask = (id: number, path: string): Buffer => http2.frame(http2.HEADERS, 5, id, http2.get(path))
const begin = (id: number, path: string): Buffer =>
  http2.frame(http2.HEADERS, 4, id, http2.head(http2.requestFields('POST', path)))
const closed = async (socket: Socket): Promise<void> => {
  if (!socket.closed) await once(socket, 'close')
}

interface Situation {
  limits?: Partial<Limits>
  /** Reaches the limit, and looks at the refusal. Returns how the log names the user. */
  reach(client: Client): Promise<string | undefined>
}

const admin = 'kubernetes-admin'
const large = `${configMaps}/large`

/** Requests for a large object that the client does not read. */
async function leaveUnread(client: Client, count: number): Promise<http2.RawClient> {
  await client.create('large', 500_000)
  const raw = await client.raw()
  return raw.send(...Array.from({ length: count }, (_, index) => ask(2 * index + 1, large)))
}

const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

async function refusedReview(client: Client, body: string): Promise<void> {
  const authorization = `Bearer ${await client.token()}`
  const request = client.session().request({ ':method': 'POST', ':path': reviews, authorization })
  const [answer] = await once(request.end(body), 'response')
  client.t.equal(answer[':status'], 413)
  const [text] = (await once(request, 'data')) as [Buffer]
  client.t.match(JSON.parse(String(text)), { kind: 'Status', reason: 'RequestEntityTooLarge' })
}

/** Requests of the account have a level of their own, which has no queue. */
async function rejectBeyondSeats({ t, server }: Client): Promise<void> {
  const flows = '/apis/flowcontrol.apiserver.k8s.io/v1'
  const limited = { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } }
  const level = { metadata: { name: 'strict' }, spec: { type: 'Limited', limited } }
  const subjects = [{ kind: 'User', user: { name: account } }]
  const resourceRules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }]
  const spec = {
    priorityLevelConfiguration: { name: 'strict' },
    matchingPrecedence: 2,
    rules: [{ subjects, resourceRules }],
  }
  const schema = { metadata: { name: 'strict' }, spec }
  for (const [plural, body] of Object.entries({ prioritylevelconfigurations: level, flowschemas: schema })) {
    t.equal((await server.send(`${flows}/${plural}`, { method: 'POST', body })).status, 201)
  }
}

/** Resolves to the path of its objects, when they are served. */
async function defineKind({ t, server }: Client, openAPIV3Schema: object): Promise<string> {
  const names = { plural: 'things', singular: 'thing', kind: 'Thing' }
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }]
  const body = { metadata: { name: 'things.x.dev' }, spec: { group: 'x.dev', names, scope: 'Namespaced', versions } }
  const made = await server.send('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body })
  t.equal(made.status, 201)
  const path = '/apis/x.dev/v1/namespaces/default/things'
  await until(async () => (await server.send(path)).status === 200, { what: 'the kind to be served' })
  return path
}

/** Those of the heap: test/apiserver/full-heap.ts. */
const situations: Record<Exclude<LimitName, 'heap'>, Situation | Situation[]> = {
  maxConnections: {
    limits: { maxConnections: 2 },
    async reach(client) {
      const others = [await client.tls(), await client.tls()]
      await closed((await client.tls()).resume())
      for (const socket of others) socket.destroy()
      return admin
    },
  },
  maxAnonymousConnections: {
    limits: { maxAnonymousConnections: 1 },
    async reach(client) {
      const first = await client.tls({ isKnown: false })
      await client.tls({ isKnown: false })
      await closed(first.resume())
      return undefined
    },
  },
  maxHandshakes: {
    limits: { maxHandshakes: 1 },
    async reach(client) {
      const first = await client.tcp()
      await client.tcp()
      await closed(first)
      return undefined
    },
  },
  handshakeTimeout: {
    limits: { handshakeTimeout: 2_000 },
    async reach(client) {
      await closed(await client.tcp())
      return undefined
    },
  },
  idleTimeout: [
    {
      limits: { idleTimeout: 200 },
      async reach(client) {
        const raw = await client.raw()
        client.t.equal(await raw.errorCode(0), NGHTTP2_NO_ERROR)
        return admin
      },
    },
    {
      limits: { idleTimeout: 200 },
      async reach(client) {
        const socket = await client.tls({ protocol: 'http/1.1' })
        socket.resume().write('GET /version HTTP/1.1\r\nHost: x\r\n\r\n')
        await closed(socket)
        return admin
      },
    },
  ],
  requestReadTimeout: [
    {
      limits: { requestReadTimeout: 1_000 },
      async reach(client) {
        const raw = await client.raw()
        client.t.equal(await raw.send(begin(1, configMaps)).errorCode(1), NGHTTP2_CANCEL, 'a body that does not come')
        return admin
      },
    },
    {
      limits: { requestReadTimeout: 1_000 },
      async reach(client) {
        const raw = await client.raw(false)
        raw.send(http2.frame(http2.HEADERS, 0, 1, http2.get()))
        client.t.equal(await raw.errorCode(0), NGHTTP2_ENHANCE_YOUR_CALM, 'half a head')
        return undefined
      },
    },
    {
      limits: { requestReadTimeout: 1_000 },
      async reach(client) {
        const raw = new http2.RawClient(await client.tls())
        client.t.equal(await raw.errorCode(0), NGHTTP2_NO_ERROR, 'not a word')
        return admin
      },
    },
    {
      limits: { requestReadTimeout: 1_000 },
      async reach(client) {
        const socket = await client.tls({ protocol: 'http/1.1' })
        socket.write('GET /version HTTP/1.1\r\n')
        const [answer] = (await once(socket, 'data')) as [Buffer]
        client.t.match(answer.toString(), /^HTTP\/1.1 408 /)
        return admin
      },
    },
  ],
  http2MaxStreamsPerConnection: {
    limits: { http2MaxStreamsPerConnection: 2 },
    async reach(client) {
      const raw = await client.raw()
      raw.send(...[1, 3, 5].map((id) => ask(id, '/version')))
      client.t.equal(await raw.errorCode(5), NGHTTP2_REFUSED_STREAM)
      return admin
    },
  },
  http2MaxStreamsPerAnonymousConnection: {
    limits: { http2MaxStreamsPerAnonymousConnection: 2 },
    async reach(client) {
      const raw = await client.raw(false)
      raw.send(...[1, 3, 5].map((id) => ask(id, '/version')))
      client.t.equal(await raw.errorCode(5), NGHTTP2_REFUSED_STREAM)
      return undefined
    },
  },
  maxRequestsInflight: {
    limits: { maxRequestsInflight: 1 },
    async reach(client) {
      await rejectBeyondSeats(client)
      const session = client.session()
      const headers = { ':method': 'POST', ':path': reviews, authorization: `Bearer ${await client.token()}` }
      session.request(headers, { endStream: false }).on('error', () => {})
      const [answer] = await once(session.request(headers), 'response')
      client.t.match(answer, { ':status': 429, 'retry-after': '1' })
      session.destroy()
      return account
    },
  },
  maxRequestsPerConnection: {
    limits: { maxRequestsPerConnection: 2 },
    async reach(client) {
      const raw = await leaveUnread(client, 3)
      await client.logged('maxRequestsPerConnection')
      client.t.notOk(raw.frames.some(({ type, streamId }) => type === http2.HEADERS && streamId === 5))
      return admin
    },
  },
  maxRequestBodyBytes: {
    limits: { maxRequestBodyBytes: 1_000 },
    async reach(client) {
      await refusedReview(client, 'x'.repeat(1_001))
      return account
    },
  },
  maxRequestBodyBytesPerUser: {
    limits: { maxRequestBodyBytesPerUser: 64 * 1024 },
    async reach(client) {
      const authorization = `Bearer ${await client.token()}`
      const session = client.session()
      const length = 40_000
      const head = { ':method': 'POST', ':path': reviews, authorization, 'content-length': length }
      const first = session.request(head)
      const [answer] = await once(session.request(head).end('x'.repeat(length)), 'response')
      client.t.match(answer, { ':status': 429, 'retry-after': '1' })
      const [late] = await once(first.end('x'.repeat(length)), 'response')
      client.t.equal(late[':status'], 400, 'the first was read')
      const [next] = await once(session.request(head).end('x'.repeat(length)), 'response')
      client.t.equal(next[':status'], 400, 'so is the next')
      return account
    },
  },
  maxRequestBodyValues: {
    limits: { maxRequestBodyValues: 1_000 },
    async reach(client) {
      await refusedReview(client, `{"spec":{},"a":[${'1,'.repeat(1_000)}1]}`)
      return account
    },
  },
  smallBody: {
    async reach(client) {
      await refusedReview(client, `{"spec":{},"a":"${'x'.repeat(128 * 1024)}"}`)
      return account
    },
  },
  maxUnreadBytesPerConnection: {
    limits: { maxUnreadBytesPerConnection: 400_000 },
    async reach(client) {
      const raw = await leaveUnread(client, 1)
      await raw.wait(({ type, streamId }) => type === http2.HEADERS && streamId === 1)
      raw.send(ask(3, large))
      return admin
    },
  },
  maxUnreadBytes: {
    limits: { maxUnreadBytes: 400_000 },
    async reach(client) {
      const raw = await leaveUnread(client, 1)
      await raw.wait(({ type, streamId }) => type === http2.HEADERS && streamId === 1)
      const waiting = client.server.send('/version')
      await client.logged('maxUnreadBytes')
      raw.socket.destroy()
      client.t.equal((await waiting).status, 200)
      return admin
    },
  },
  maxUnreadBytesPerWatch: {
    limits: { maxUnreadBytesPerWatch: 100_000 },
    async reach(client) {
      const raw = await client.raw()
      raw.send(ask(1, `${configMaps}?watch=1`))
      await raw.wait(({ type, streamId }) => type === http2.HEADERS && streamId === 1)
      await client.create('first', 200_000)
      await client.create('second', 10)
      client.t.equal(await raw.errorCode(1), NGHTTP2_INTERNAL_ERROR)
      return admin
    },
  },
  maxStatusCauseBytes: {
    limits: { maxStatusCauseBytes: 1_000 },
    async reach(client) {
      const scopes = Array.from({ length: 200 }, (_, index) => `Scope${index}`)
      const body = { metadata: { name: 'q' }, spec: { scopes } }
      const refused = await client.server.send('/api/v1/namespaces/default/resourcequotas', { method: 'POST', body })
      client.t.equal(refused.status, 422)
      client.t.match(refused.body, { reason: 'Invalid', message: /and \d+ more errors\]$/ })
      return admin
    },
  },
  maxSchemaSteps: {
    limits: { maxSchemaSteps: 1_000 },
    async reach(client) {
      const anyOf = Array.from({ length: 100 }, (_, index) => ({ maxLength: index }))
      const items = { type: 'array', items: { type: 'string', anyOf } }
      const path = await defineKind(client, { type: 'object', properties: { items } })
      const body = {
        apiVersion: 'x.dev/v1',
        kind: 'Thing',
        metadata: { name: 'x' },
        items: Array(50).fill('x'.repeat(99)),
      }
      const refused = await client.server.send(path, { method: 'POST', body })
      client.t.match(refused, { status: 422, body: { message: /took more than 1000 steps and was stopped/ } })
      return admin
    },
  },
  managedFields: {
    async reach(client) {
      const path = await defineKind(client, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
      const map = Object.fromEntries(Array.from({ length: 50_001 }, (_, index) => [`k${index}`, 1]))
      const body = { apiVersion: 'x.dev/v1', kind: 'Thing', metadata: { name: 'x' }, map }
      const created = await client.server.send(path, { method: 'POST', body })
      client.t.equal(created.status, 201)
      client.t.notMatch(created.body, { metadata: { managedFields: [] } }, 'a create keeps no owners')
      const headers = { 'content-type': 'application/apply-patch+yaml' }
      const refused = await client.server.send(`${path}/x?fieldManager=a`, { method: 'PATCH', headers, body })
      client.t.match(refused, { status: 413, body: { message: /more fields than the server keeps owners of/ } })
      return admin
    },
  },
  schemaDefaults: [
    { query: '', method: 'POST', type: 'application/json' },
    { query: '/x?fieldManager=a', method: 'PATCH', type: 'application/apply-patch+yaml' },
  ].map(({ query, method, type }) => ({
    async reach(client) {
      const text = { type: 'string', default: 'x'.repeat(100_000) }
      const items = { type: 'array', items: { type: 'object', properties: { text } } }
      const path = await defineKind(client, { type: 'object', properties: { items } })
      const things = Array.from({ length: 100 }, () => ({}))
      const body = { apiVersion: 'x.dev/v1', kind: 'Thing', metadata: { name: 'x' }, items: things }
      const refused = await client.server.send(`${path}${query}`, { method, headers: { 'content-type': type }, body })
      client.t.match(refused.body, { message: /the defaults of its schema would add more than 3145728 bytes/ })
      return admin
    },
  })),
  storedObject: {
    limits: { maxRequestBodyBytes: 64 * 1024 },
    async reach(client) {
      const path = await defineKind(client, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true })
      const body = { apiVersion: 'x.dev/v1', kind: 'Thing', metadata: { name: 'x' } }
      client.t.equal((await client.server.send(path, { method: 'POST', body })).status, 201)
      const headers = { 'content-type': 'application/merge-patch+json' }
      const grow = (key: string) =>
        client.server.send(`${path}/x`, { method: 'PATCH', headers, body: { [key]: 'x'.repeat(60 * 1024) } })
      for (const key of ['a', 'b', 'c']) client.t.equal((await grow(key)).status, 200)
      client.t.match(await grow('d'), { status: 413, body: { message: /bytes as it is stored: limit is 196608$/ } })
      return admin
    },
  },
  maxCelSteps: [
    {
      limits: { maxCelSteps: 1_000 },
      async reach(client) {
        const rule = { rule: 'self.all(a, self.all(b, a + b >= 0))' }
        const items = { type: 'array', maxItems: 100, items: { type: 'integer' }, 'x-kubernetes-validations': [rule] }
        const path = await defineKind(client, { type: 'object', properties: { items } })
        const body = { apiVersion: 'x.dev/v1', kind: 'Thing', metadata: { name: 'x' }, items: Array(50).fill(1) }
        const refused = await client.server.send(path, { method: 'POST', body })
        client.t.match(refused, { status: 422, body: { message: /actual cost limit exceeded/ } })
        return admin
      },
    },
    {
      limits: { maxCelSteps: 1_000 },
      async reach(client) {
        const policies = '/apis/admissionregistration.k8s.io/v1'
        const numbers = `[${Array(50).fill(1)}]`
        const validations = [{ expression: `${numbers}.all(a, ${numbers}.all(b, a + b > 0))` }]
        const resourceRules = [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
        ]
        const policy = { metadata: { name: 'p' }, spec: { matchConstraints: { resourceRules }, validations } }
        const binding = { metadata: { name: 'p' }, spec: { policyName: 'p', validationActions: ['Deny'] } }
        const post = (path: string, body: object) => client.server.send(path, { method: 'POST', body })
        client.t.equal((await post(`${policies}/validatingadmissionpolicies`, policy)).status, 201)
        client.t.equal((await post(`${policies}/validatingadmissionpolicybindings`, binding)).status, 201)
        const refused = await post(configMaps, { metadata: { name: 'x' } })
        client.t.match(refused, { status: 422, body: { message: /actual cost limit exceeded/ } })
        return admin
      },
    },
  ],
  unreadTimeout: {
    limits: { unreadTimeout: 300 },
    async reach(client) {
      const raw = await leaveUnread(client, 1)
      client.t.equal(await raw.errorCode(1), NGHTTP2_INTERNAL_ERROR)
      return admin
    },
  },
  requestHead: [
    {
      async reach(client) {
        const headers = { 'x-long': 'x'.repeat(65_500) }
        client.t.equal((await client.server.send('/version', { headers })).status, 431)
        return admin
      },
    },
    {
      async reach(client) {
        const request = client.session({ maxSendHeaderBlockLength: 100_000 }).request({ 'x-long': 'x'.repeat(70_000) })
        const [answer] = await once(request, 'response')
        client.t.equal(answer[':status'], 431)
        return undefined
      },
    },
  ],
  uselessFrames: {
    async reach(client) {
      const raw = await client.raw()
      const ping = http2.frame(http2.PING, 1, 0, Buffer.alloc(8))
      raw.send(...Array.from({ length: 40_000 }, () => ping))
      client.t.equal(await raw.errorCode(0), NGHTTP2_ENHANCE_YOUR_CALM)
      return admin
    },
  },
}

/** Of node:http2 some limits differ (docs/configuration.md), which node.test.ts tries. */
for (const [name, list] of Object.entries(situations) as [LimitName, Situation | Situation[]][]) {
  for (const [index, { limits = {}, reach }] of [list].flat().entries()) {
    t.test(`${kebab(name)} ${index || ''}`.trim(), async (t) => {
      const lines: Line[] = []
      const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
      const client = new Client(t, await startTestApiServer(t, {}, log, limits, { http2: 'own' }), lines)
      const user = await reach(client)
      const line = await client.logged(name)
      const { what, beyond } = limitTable[name]
      t.match(line, { msg: `limit reached: ${what}; ${beyond}`, client: /^127\.0\.0\.1:\d+$/ })
      t.equal(line.user, user)
      const counted = new RegExp(`^kubestage_limits_reached_total\\{limit="${kebab(name)}"\\} [1-9]`, 'm')
      // Refused while the server has not seen that earlier connections are closed.
      const metrics = async () => String((await client.server.send('/metrics').catch(() => undefined))?.body)
      await until(async () => counted.test(await metrics()), { what: 'the metric' })
    })
  }
}

t.test('each flag sets its limit, and no other', async (t) => {
  for (const [name, { default: value, type }] of Object.entries(limitOptions)) {
    const args = [`${flagOf(name)}=${type.show?.(2 * value)}`]
    const { values } = await resolveOptions(apiServerOptions, { args, env: {} })
    t.same(limitsOf(values), { ...defaultLimits, [name]: 2 * value }, name)
  }
})
