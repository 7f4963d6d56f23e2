import type { ServerResponse } from 'node:http'
import { get } from 'node:https'
import t from 'tap'
import { protobufEvent } from '../../../apiserver/http/encode/watch-encoder.ts'
import { HttpWatchSink } from '../../../apiserver/http/streams/http-watch-sink.ts'
import { decodeProtobuf } from '../../../apiserver/protobuf/decode.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import { startTestApiServer } from '../../harness/api-server.ts'

const protobuf = 'application/vnd.kubernetes.protobuf'
const core = '/api/v1/namespaces/default'

t.test('a client that accepts only protobuf gets it', async (t) => {
  const server = await startTestApiServer(t)
  const ask = (path: string, accept: string, method = 'GET', body?: object) =>
    server.send(path, { method, body, headers: { accept } })

  await t.test('objects, lists and what discovery says', async (t) => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data: { k: 'eA==' } }
    const made = await ask(`${core}/secrets`, protobuf, 'POST', secret)
    t.match(made, { status: 201, headers: { 'content-type': protobuf } })
    t.match(decodeProtobuf(made.bytes), secret)
    const list = await ask(`${core}/secrets`, protobuf)
    t.equal(list.headers['content-type'], protobuf)
    t.match(decodeProtobuf(list.bytes), { kind: 'SecretList', items: [{ metadata: { name: 'a' } }] })
    const partial = `${protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`
    const metadata = decodeProtobuf((await ask(`${core}/secrets/a`, partial)).bytes)
    t.match(metadata, { kind: 'PartialObjectMetadata', metadata: { name: 'a' } })
    t.notOk(metadata.data)
    // As from a real server, its envelope names the kind without a version.
    const head = 'k8s\0\n\x0f\n\0\x12\x0bAPIVersions'
    t.equal((await ask('/api', protobuf)).bytes.toString('latin1', 0, head.length), head)
  })

  await t.test('JSON goes to who takes both', async (t) => {
    for (const accept of [`${protobuf},application/json`, `application/json;q=0.5,${protobuf}`, `${protobuf},*/*`]) {
      t.equal((await ask(`${core}/secrets/a`, accept)).headers['content-type'], 'application/json', accept)
    }
  })

  await t.test('refusals are in protobuf as well', async (t) => {
    const missing = await ask(`${core}/secrets/none`, protobuf)
    t.equal(missing.headers['content-type'], protobuf)
    t.match(decodeProtobuf(missing.bytes), { kind: 'Status', code: 404, reason: 'NotFound' })
  })

  await t.test('what has no protobuf form is refused', async (t) => {
    const table = `${protobuf};as=Table;g=meta.k8s.io;v=v1`
    for (const path of [`${core}/secrets`, `${core}/secrets/a`, `${core}/secrets?watch=true`]) {
      const { status, bytes } = await ask(path, table)
      t.equal(status, 406, path)
      t.match(JSON.parse(bytes.toString()).message, /^only the following media types are accepted/, path)
    }
  })

  await t.test('events of a watch', async (t) => {
    const frames = await new Promise<{ type?: string; first: Buffer }>((resolve, reject) => {
      const url = `https://127.0.0.1:${server.port}${core}/secrets?watch=true&resourceVersion=0`
      const request = get(url, { ...server.tls, headers: { accept: protobuf } }, (response) =>
        response.once('data', (first: Buffer) => {
          request.destroy()
          resolve({ type: response.headers['content-type'], first })
        }),
      )
      request.on('error', reject)
    })
    t.equal(frames.type, `${protobuf};stream=watch`)
    t.ok(frames.first.length >= frames.first.readUInt32BE() + 4)
    t.match(decodeProtobuf(frames.first.subarray(frames.first.indexOf('k8s\0'))), { kind: 'Secret' })
  })
})

t.test('the last event of a watch tells why it ends, in the form of the others', (t) => {
  const written: Buffer[] = []
  const response = { end: (chunk: Buffer) => written.push(chunk) } as unknown as ServerResponse
  new HttpWatchSink(response, {}, protobufEvent).end(
    new StatusError({ code: 410, reason: 'Expired', message: 'too old' }),
  )
  t.ok(written[0]!.includes('ERROR'))
  t.match(decodeProtobuf(written[0]!.subarray(written[0]!.indexOf('k8s\0'))), { kind: 'Status', code: 410 })
  t.end()
})
