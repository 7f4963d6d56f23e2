import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { issueCertificate, signCertificate } from '../../shared/pki/certificate.ts'
import { element, elements } from '../../shared/pki/der-reader.ts'
import { fromPem } from '../../shared/pki/pem.ts'
import { createSigningRequest, readSigningRequest } from '../../shared/pki/signing-request.ts'
import { readSubject } from '../../shared/pki/subject.ts'

const validity = { notBefore: '2026-01-01T00:00:00Z', notAfter: '2036-01-01T00:00:00Z' }

t.test('a request says what it was made for, and becomes a certificate that says the same', async (t) => {
  const { request, key } = createSigningRequest({
    commonName: 'system:node:ümläut',
    organizations: ['system:nodes', 'others'],
    altNames: ['node-1', '10.0.0.7', '2001:db8::1'],
  })
  const read = readSigningRequest(request)
  t.match(read, { commonName: 'system:node:ümläut', organizations: ['system:nodes', 'others'], dnsNames: ['node-1'] })
  t.same(read.ipAddresses, ['0a000007', '20010db8000000000000000000000001'])
  t.equal(read.otherNames, 0)

  const ca = issueCertificate({ commonName: 'ca', usage: 'ca', ...validity })
  const certificate = new X509Certificate(
    signCertificate(
      {
        ...read,
        keyUsages: ['digital signature', 'key encipherment', 'decipher only'],
        extendedUsages: ['server auth'],
        ...validity,
      },
      ca,
    ),
  )
  t.ok(certificate.verify(new X509Certificate(ca.cert).publicKey))
  t.equal(certificate.subject, 'O=system:nodes\nO=others\nCN=system:node:ümläut')
  t.same(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  for (const address of ['10.0.0.7', '2001:db8::1']) t.ok(certificate.checkIP(address))
  t.ok(key.startsWith('-----BEGIN EC PRIVATE KEY-----'))
})

t.test('requests that OpenSSL makes, with every kind of key', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'request')
  const kinds = {
    rsa: ['-newkey', 'rsa:2048'],
    p384: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-sha384'],
    ed25519: ['-newkey', 'ed25519'],
  }
  for (const [name, options] of Object.entries(kinds)) {
    const subject = [
      '-subj',
      '/O=team/CN=jane/emailAddress=jane@example.com',
      '-addext',
      'subjectAltName=email:jane@example.com,DNS:a',
    ]
    execFileSync('openssl', ['req', ...options, '-nodes', '-keyout', `${file}.key`, '-out', file, ...subject], {
      stdio: 'ignore',
    })
    t.match(
      readSigningRequest(readFileSync(file, 'utf8')),
      {
        commonName: 'jane',
        organizations: ['team'],
        otherAttributes: ['1.2.840.113549.1.9.1'],
        dnsNames: ['a'],
        otherNames: 1,
      },
      name,
    )
  }
  const ours = join(directory, 'ours')
  writeFileSync(ours, createSigningRequest({ commonName: 'x', altNames: ['a.example.com'] }).request)
  t.match(
    execFileSync('openssl', ['req', '-in', ours, '-noout', '-text', '-verify'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
    'DNS:a.example.com',
  )
})

t.test('a subject is read as certificates will be: the last name, and texts in whatever alphabet', async (t) => {
  const part = (type: number, tag: number, text: Buffer): Buffer => {
    const value = Buffer.concat([Buffer.from([6, 3, 0x55, 4, type, tag, text.length]), text])
    return Buffer.concat([Buffer.from([0x31, value.length + 2, 0x30, value.length]), value])
  }
  const [commonName, organization] = [3, 10]
  const masters = 'system:masters'
  const wide = (bytes: number): Buffer =>
    Buffer.concat(
      [...masters].map((char) =>
        Buffer.from(
          char
            .charCodeAt(0)
            .toString(16)
            .padStart(2 * bytes, '0'),
          'hex',
        ),
      ),
    )
  const names = Buffer.concat([
    part(commonName, 0x0c, Buffer.from('boss')),
    part(commonName, 0x13, Buffer.from('jane')),
    part(organization, 0x1e, wide(2)),
    part(organization, 0x1c, wide(4)),
    part(organization, 0x14, Buffer.from('böse', 'latin1')),
  ])
  const subject = element(Buffer.concat([Buffer.from([0x30, 0x81, names.length]), names]))
  t.same(readSubject(subject), { commonName: 'jane', organizations: [masters, masters, 'böse'], otherAttributes: [] })
  t.throws(() => readSubject({ ...subject, content: part(organization, 0x1c, Buffer.from('ffffffff', 'hex')) }))
})

t.test('a request that is not signed with its own key is refused', async (t) => {
  const [one, other] = ['one', 'other'].map((commonName) => {
    const { request } = createSigningRequest({ commonName })
    return elements(element(fromPem('CERTIFICATE REQUEST', request)!).content)
  })
  const forged = Buffer.concat([one![0]!.whole, one![1]!.whole, other![2]!.whole])
  const whole = Buffer.concat([Buffer.from([0x30, 0x81, forged.length]), forged]).toString('base64')
  t.throws(
    () => readSigningRequest(`-----BEGIN CERTIFICATE REQUEST-----\n${whole}\n-----END CERTIFICATE REQUEST-----`),
    { message: 'signature does not fit the key' },
  )
})

t.test('anything else is an error, whatever its bytes', async () => {
  const valid = fromPem('CERTIFICATE REQUEST', createSigningRequest({ commonName: 'x', altNames: ['a'] }).request)!
  const body = elements(element(valid).content)[0]!.whole
  const read = (der: Buffer): unknown =>
    readSigningRequest(
      `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----`,
    )
  const fails = (der: Buffer): boolean => {
    try {
      read(der)
      return false
    } catch (error) {
      return error instanceof Error
    }
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => fails(Buffer.from(bytes))))
  fc.assert(
    // Every byte that is signed.
    fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const bent = Buffer.from(valid)
      bent[valid.indexOf(body) + at]! ^= change
      return fails(bent)
    }),
  )
})
