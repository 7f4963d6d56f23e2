/**
 * The ceiling: what fastify over TLS and HTTP/2 does when it does nothing else. Same port for HTTP/1.1, client
 * certificates demanded, objects as large as ours; no kinds, no validation, no revisions. Arguments: certificate, key,
 * CA, and a sample of what the server under test makes of a pod.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Http2SecureServer, Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyReply, type RouteGenericInterface } from 'fastify'

const [certFile = '', keyFile = '', caFile = '', sampleFile = ''] = process.argv.slice(2)
const sample = JSON.parse(readFileSync(sampleFile, 'utf8')) as Item
const app = fastify({
  http2: true,
  https: {
    allowHTTP1: true,
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    ca: readFileSync(caFile),
    requestCert: true,
    rejectUnauthorized: true,
  },
})
type Reply = FastifyReply<RouteGenericInterface, Http2SecureServer>
const objects = new Map<string, string>()
const watchers = new Set<Http2ServerResponse>()
let revision = 0

interface Item {
  metadata: { name: string; uid?: string; resourceVersion?: string; annotations?: object }
}
const path = '/api/v1/namespaces/:namespace/pods'
const send = (reply: Reply, text: string): Reply => reply.header('content-type', 'application/json').send(text)

function store(object: Item): string {
  object.metadata.resourceVersion = String(++revision)
  const text = JSON.stringify(object)
  objects.set(object.metadata.name, text)
  if (watchers.size > 0) {
    const event = Buffer.from(`{"type":"MODIFIED","object":${text}}\n`)
    for (const watcher of watchers) watcher.write(event)
  }
  return text
}

app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, (_, body, done) =>
  done(null, JSON.parse(body as string)),
)
app.post(path, (request, reply) => {
  const { metadata } = request.body as Item
  return send(reply.code(201), store({ ...sample, metadata: { ...sample.metadata, ...metadata, uid: randomUUID() } }))
})
app.get(`${path}/:name`, (request, reply) => send(reply, objects.get((request.params as { name: string }).name) ?? ''))
app.patch(`${path}/:name`, (request, reply) => {
  const object = JSON.parse(objects.get((request.params as { name: string }).name) ?? '{}') as Item
  object.metadata.annotations = { ...object.metadata.annotations, ...(request.body as Item).metadata.annotations }
  return send(reply, store(object))
})
app.get(path, (request, reply) => {
  reply.hijack()
  reply.raw.writeHead(200, { 'content-type': 'application/json' })
  if ((request.query as { watch?: string }).watch) {
    watchers.add(reply.raw)
    reply.raw.once('close', () => watchers.delete(reply.raw))
  } else {
    void writeList(reply.raw)
  }
})

const BATCH_CHARACTERS = 64 * 1024

async function writeList(response: Http2ServerResponse): Promise<void> {
  let batch = '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":['
  let separator = ''
  for (const text of [...objects.values()]) {
    batch += separator + text
    separator = ','
    if (batch.length < BATCH_CHARACTERS) continue
    if (!response.write(batch)) await new Promise((resolve) => response.once('drain', resolve))
    batch = ''
  }
  response.end(`${batch}]}`)
}

await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.({ port: (app.server.address() as AddressInfo).port })
process.once('disconnect', () => process.exit())
