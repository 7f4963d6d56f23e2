import { Agent, request } from 'node:https'
import { connect } from 'node:tls'
import t from 'tap'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { startTestCluster } from '../harness/cluster.ts'

const wholeRequests = 9_500
const brokenConnections = 500
const atOnce = 24

const methods = [
  'GET',
  'GET',
  'POST',
  'POST',
  'POST',
  'PUT',
  'PUT',
  'PATCH',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'SEARCH',
]
const paths = [
  '/api/v1/namespaces/default/pods',
  '/api/v1/namespaces/default/pods/x',
  '/api/v1/namespaces/default/pods/x/status',
  '/api/v1/namespaces/default/pods/x/log',
  '/api/v1/namespaces/default/pods/x/binding',
  '/api/v1/namespaces/default/configmaps/%00',
  '/api/v1/namespaces/default/configmaps/%',
  '/api/v1/namespaces/%2e%2e/pods/..%2f..%2f',
  '/api/v1/namespaces//pods',
  '/api/v1/pods/a/b/c/d/e/f',
  '/api/v1/nodes/é',
  '/api/v1/nope',
  '/apis/nope.example.com/v1/x',
  '/apis/coordination.k8s.io/v1/namespaces/default/leases',
  '/openapi/v3/nope',
  '//',
  '/.',
  '/api/v1/../../etc/passwd',
  `/${'a'.repeat(7_000)}`,
]
const queries = [
  '',
  '?watch=maybe',
  '?limit=-1',
  '?limit=x',
  '?continue=%%%',
  '?continue=bm90IG91cnM',
  '?labelSelector=a%20in',
  '?labelSelector=%00',
  '?fieldSelector=nope%3D1',
  '?fieldSelector===',
  '?resourceVersion=x',
  '?resourceVersion=-1&resourceVersionMatch=Exact',
  '?gracePeriodSeconds=x',
  '?gracePeriodSeconds=1e99',
  '?propagationPolicy=Nope',
  '?reason=%0A',
  '?dryRun=Some',
  '?fieldValidation=Nope',
  '?pretty=x&pretty=y',
  '?%',
]
const types = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'text/plain',
  'application/json; charset=utf-7',
  ';;',
  '',
]
const bodies: (string | Buffer)[] = [
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '1e999',
  '{"metadata":null}',
  '{"metadata":[]}',
  '{"metadata":{"name":1}}',
  '{"metadata":{"name":"x","labels":{"a":1}}}',
  '{"kind":"Pod","apiVersion":"v1"}',
  '{"kind":"Pod","apiVersion":"v2","metadata":{"name":"x"}}',
  '{"kind":"Nope","apiVersion":"v1","metadata":{"name":"x"}}',
  '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"},"spec":{"containers":{}}}',
  '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"},"spec":{"containers":[null,1,"a",[],{}]}}',
  '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","finalizers":[{}],"ownerReferences":[1]}}',
  '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","creationTimestamp":"yesterday"}}',
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  '[{"op":"nope","path":"/x"}]',
  '[{"op":"replace","path":"","value":null}]',
  '[{"op":"add","path":"/metadata/labels/a/b/c","value":1},{"op":"copy","from":"/nope","path":"/x"}]',
  'a: &a [*a]',
  'a: [b',
  'k8s\0',
  '\ufeff{}',
  Buffer.from([0x6b, 0x38, 0x73, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff]),
  Buffer.from([0xff, 0xfe, 0x00, 0x80]),
  `${'['.repeat(20_000)}`,
  `{"a":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`,
  `{"metadata":{"name":"x","annotations":{"a":"${'x'.repeat(300_000)}"}}}`,
]
const brokenTexts = [
  'GET / HTTP/9.9\r\n\r\n',
  'nonsense\r\n\r\n',
  'GET /api HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
  'POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"kind":',
  'POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /api/v1/namespaces/default/pods/x/exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\ngarbage',
  `GET /api HTTP/1.1\r\nHost: x\r\n${'X-Big: y\r\n'.repeat(5_000)}\r\n`,
]

/** Where a real server blames itself for a client's mistake (recorded, or read off its handlers), so do we, with its words. */
const realServerFaults = [
  /^Internal error occurred: unexpected EOF/,
  /provided data does not appear to be a protobuf message/,
  /^Internal error occurred: yaml: /,
  /strconv\.ParseUint: parsing/,
  /^target\.(name|kind): /,
]

/** The same picks in every run, so that a failure can be repeated. */
let seed = 20261121
function pick<Item>(items: readonly Item[]): Item {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
  return items[(seed >> 8) % items.length]!
}

t.test(
  '10,000 malformed requests leave the server up, and blame nobody but the client',
  { timeout: 600_000 },
  async (t) => {
    const cluster = await startTestCluster(t, '--kubelet=false', '--scheduler=false')
    const agent = new Agent({ ...tls(cluster.access), keepAlive: true, maxSockets: atOnce })
    t.teardown(() => agent.destroy())
    const answers = new Map<number, number>()
    const serverFaults: string[] = []

    await inParallel(wholeRequests, async () => {
      const [method, path, type, body] = [pick(methods), pick(paths) + pick(queries), pick(types), pick(bodies)]
      const { status, text } = await send(cluster.access, agent, { method, path, type, body })
      answers.set(status, (answers.get(status) ?? 0) + 1)
      if (status >= 500 && !realServerFaults.some((known) => known.test(messageOf(text)))) {
        serverFaults.push(`${status} ${method} ${path.slice(0, 100)} ${type} ${String(body).slice(0, 80)}: ${text}`)
      }
    })
    await inParallel(brokenConnections, () => sendBroken(cluster.access, pick(brokenTexts)))

    t.comment(
      `answers by status: ${[...answers]
        .sort()
        .map((entry) => entry.join(': '))
        .join(', ')}`,
    )
    t.same(serverFaults.slice(0, 20), [], `${serverFaults.length} answers with 5xx`)
    t.ok(
      (answers.get(400) ?? 0) > 100 && (answers.get(404) ?? 0) > 100 && (answers.get(422) ?? 0) > 0,
      'each was looked at',
    )
    t.equal((await send(cluster.access, agent, { method: 'GET', path: '/readyz', type: '', body: '' })).text, 'ok')
    t.equal(cluster.process.child.exitCode, null)
  },
)

function messageOf(status: string): string {
  try {
    return JSON.parse(status).message
  } catch {
    return status
  }
}

async function inParallel(count: number, work: () => Promise<void>): Promise<void> {
  let left = count
  const lane = async (): Promise<void> => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

function tls({ ca, cert, key }: ClusterAccess): { ca?: string; cert?: string; key?: string } {
  return { ca, cert, key }
}

interface Whole {
  method: string
  path: string
  type: string
  body: string | Buffer
}

/** A watch that the server begins is left after its head. 0: the server closed the connection without an answer. */
function send(
  access: ClusterAccess,
  agent: Agent,
  { method, path, type, body }: Whole,
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(access.server)
  const headers = { ...(type && { 'content-type': type }), 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve) => {
    const outgoing = request(
      { agent, hostname, port, method, path: encodeURI(path).replaceAll('%25', '%'), headers },
      (response) => {
        const status = response.statusCode ?? 0
        // A watch of nothing says nothing after its head.
        if (status === 200 && /[?&]watch=/.test(path)) outgoing.destroy()
        let text = ''
        const done = (): void => resolve({ status, text })
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', done).on('close', done).on('error', done)
      },
    )
    outgoing.setTimeout(60_000, () => outgoing.destroy())
    outgoing.on('error', () => resolve({ status: 0, text: '' }))
    outgoing.end(body)
  })
}

/** Sends and closes its half of the connection in the middle of things. */
function sendBroken(access: ClusterAccess, text: string): Promise<void> {
  const { hostname, port } = new URL(access.server)
  return new Promise((resolve) => {
    const socket = connect({ ...tls(access), host: hostname, port: Number(port) }, () => {
      socket.end(text)
      socket.setTimeout(200, () => socket.destroy())
    })
    socket
      .resume()
      .on('error', () => {})
      .on('close', () => resolve())
  })
}
