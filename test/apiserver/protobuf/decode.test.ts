import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { decodeProtobuf, ProtobufError } from '../../../apiserver/protobuf/decode.ts'
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

t.test('bodies of Go clients become the JSON that the same object has', async (t) => {
  for (const [index, { json, protobuf }] of vectors.entries()) {
    const { apiVersion, kind, ...object } = json
    const decoded = decodeProtobuf(Buffer.from(protobuf, 'base64'))
    t.match(decoded, { apiVersion, kind }, `${index} ${kind}: type`)
    const schema = schemaOf.get(`${apiVersion} ${kind}`)!
    t.strictSame(JSON.parse(JSON.stringify(decodeObject({ schema }, decoded).object)), object, `${index} ${kind}`)
  }
})

t.test('what is no message fails at once, in one kind of error', async (t) => {
  const expected = { apiVersion: 'v1', kind: 'Pod' }
  t.throws(() => decodeProtobuf(Buffer.from('{}'), expected), {
    message: 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
  })
  t.throws(() => decodeProtobuf(Buffer.from('k8s\0'), expected), { message: 'empty body' })
  t.throws(() => decodeProtobuf(Buffer.from('k8s\0\x0a\x7f'), expected), { message: 'unexpected EOF' })
  const bodies = vectors.map(({ protobuf }) => Buffer.from(protobuf, 'base64'))
  fc.assert(
    fc.property(fc.constantFrom(...bodies), fc.nat(), fc.nat(255), fc.boolean(), (body, at, byte, cut) => {
      const index = 4 + (at % (body.length - 4))
      const broken = cut ? body.subarray(0, index) : Buffer.from(body)
      if (!cut) broken[index] = byte
      try {
        decodeProtobuf(broken, expected)
      } catch (error) {
        if (!(error instanceof ProtobufError)) throw error
      }
    }),
    { numRuns: 2000 },
  )
  t.pass('2,000 broken bodies')
})

t.test('options of a delete', async (t) => {
  const typeMeta = Buffer.concat([field(1, 'v1'), field(2, 'DeleteOptions')])
  const options = Buffer.concat([Buffer.from([0x08, 20]), field(4, 'Background')])
  const body = Buffer.concat([Buffer.from('k8s\0'), field(1, typeMeta), field(2, options), field(3, ''), field(4, '')])
  t.strictSame(
    decodeProtobuf(body, { apiVersion: 'v1', kind: 'DeleteOptions' }),
    {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 20,
      propagationPolicy: 'Background',
    },
    'a Go client sets its grace',
  )
})

function field(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string)
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes])
}
