import { readFileSync } from 'node:fs'
import t from 'tap'
import { decodeProtobuf } from '../../../apiserver/protobuf/decode.ts'
import { encodeProtobuf, encodeWatchEvent } from '../../../apiserver/protobuf/encode.ts'
import { decodeObject } from '../../../apiserver/validation/decoder.ts'
import { openApiSchemas } from '../../../openapi/schemas.ts'

interface Vector {
  json: { apiVersion: string; kind: string; metadata: object }
  protobuf: string
}
const vectors = JSON.parse(readFileSync(new URL('../../golden/protobuf.json', import.meta.url), 'utf8')) as Vector[]

const schemaOf = new Map<string, string>()
for (const [name, schema] of openApiSchemas()) {
  for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? []) {
    schemaOf.set(`${group ? `${group}/` : ''}${version} ${kind}`, name)
  }
}

t.test('what is encoded says the same as what Go writes', async (t) => {
  for (const [index, { json, protobuf }] of vectors.entries()) {
    const { apiVersion, kind } = json
    const schema = schemaOf.get(`${apiVersion} ${kind}`)!
    const read = (body: Buffer) => JSON.parse(JSON.stringify(decodeObject({ schema }, decodeProtobuf(body)).object))
    const encoded = encodeProtobuf(structuredClone(json))!
    t.strictSame(read(encoded), read(Buffer.from(protobuf, 'base64')), `${index} ${kind}`)
  }
})

t.test('events of a watch are framed by their length', async (t) => {
  const frame = encodeWatchEvent('ADDED', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } })!
  t.equal(frame.readUInt32BE(), frame.length - 4)
  const at = frame.indexOf('k8s\0')
  t.match(decodeProtobuf(frame.subarray(at)), { kind: 'Secret', metadata: { name: 'a' } })
  t.equal(encodeWatchEvent('ADDED', { apiVersion: 'example.com/v1', kind: 'Gadget' }), undefined)
})
