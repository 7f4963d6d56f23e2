/** What may be asked of a signer: the messages are a real server's, but for what it says of broken DER. */
import t from 'tap'
import type { Status } from '../../shared/api/types.ts'
import { fromPem, pem } from '../../shared/pki/pem.ts'
import { createSigningRequest } from '../../shared/pki/signing-request.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const label = 'CERTIFICATE REQUEST'
const good = createSigningRequest({ commonName: 'jane' }).request
const der = fromPem(label, good)!
const changed = Buffer.from(der)
// The last byte is of the signature.
changed[changed.length - 1]! ^= 1

const requests: [title: string, request: string | null, problem: string | RegExp | undefined][] = [
  ['a request', good, undefined],
  ['text before it', `hello\n${good}`, undefined],
  ['text after it', `${good}bye\n`, undefined],
  ['nothing', '', 'PEM block type must be CERTIFICATE REQUEST'],
  ['null', null, 'PEM block type must be CERTIFICATE REQUEST'],
  ['garbage', 'garbage', 'PEM block type must be CERTIFICATE REQUEST'],
  ['a certificate', pem('CERTIFICATE', der), 'PEM block type must be CERTIFICATE REQUEST'],
  ['a block without a request', pem(label, Buffer.from([0, 0, 0])), /^asn1: /],
  ['an empty sequence', pem(label, Buffer.from([0x30, 0])), /^asn1: /],
  ['half a request', pem(label, der.subarray(0, der.length / 2)), /^asn1: /],
  ['a request and three bytes', pem(label, Buffer.concat([der, Buffer.from('abc')])), /^asn1: /],
  ['one signed with another key', pem(label, changed), 'x509: ECDSA verification failure'],
]

t.test('a request for a certificate is read when it is created', async (t) => {
  const server = await startTestApiServer(t)
  for (const [title, request, problem] of requests) {
    const shown = request === null ? null : Buffer.from(request).toString('base64')
    const { status, body } = await server.send('/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All', {
      method: 'POST',
      body: {
        metadata: { name: 'x' },
        spec: { request: shown, signerName: 'example.com/signer', usages: ['client auth'] },
      },
    })
    t.equal(status, problem === undefined ? 201 : 422, title)
    if (problem === undefined) continue
    const [cause, ...more] = (body as Status).details?.causes ?? []
    t.same(more, [])
    t.match(cause, { reason: 'FieldValueInvalid', field: 'spec.request' }, title)
    const [value, detail = ''] = cause?.message?.split(/(?<=^Invalid value: \S+): /) ?? []
    t.equal(value, `Invalid value: ${JSON.stringify(shown)}`, title)
    if (typeof problem === 'string') t.equal(detail, problem, title)
    else t.match(detail, problem, title)
  }
})
