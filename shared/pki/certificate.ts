import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIP } from 'node:net'
import {
  bitString,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  tagged,
  taggedPrimitive,
  time,
  trueValue,
  utf8String,
} from './der.ts'
import { ipBytes } from './ip-bytes.ts'

/** Both in PEM. */
export interface KeyPair {
  cert: string
  key: string
}

export interface CertificateRequest {
  commonName: string
  organizations?: readonly string[]
  /** DNS names and IP addresses, told apart by their form. */
  altNames?: readonly string[]
  usage: 'ca' | 'server' | 'client'
  /** RFC 3339. */
  notBefore: string
  notAfter: string
}

const oids = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
}
/** Bits of KeyUsage, first bit highest. */
const digitalSignature = 0x80
const certificateSigning = 0x04
const signatureAlgorithm = sequence(objectIdentifier(oids.ecdsaWithSha256))

/** A new P-256 key and its certificate, signed by `issuer`, or by itself. */
export function issueCertificate(request: CertificateRequest, issuer?: KeyPair): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' })
  const issuerKeyInfo = issuer ? createPublicKey(issuer.cert).export({ type: 'spki', format: 'der' }) : publicKeyInfo
  const subject = distinguishedName(request.commonName, request.organizations)
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    signatureAlgorithm,
    issuer ? distinguishedName(commonNameOf(issuer)) : subject,
    sequence(time(request.notBefore), time(request.notAfter)),
    subject,
    publicKeyInfo,
    tagged(3, sequence(...extensions(request, publicKeyInfo, issuerKeyInfo))),
  )
  const signature = sign('sha256', body, issuer ? createPrivateKey(issuer.key) : privateKey)
  return {
    cert: pem('CERTIFICATE', sequence(body, signatureAlgorithm, bitString(signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Issuers are our own CAs: a common name and nothing else. */
function commonNameOf(issuer: KeyPair): string {
  return new X509Certificate(issuer.cert).subject.replace(/^CN=/, '')
}

function distinguishedName(commonName: string, organizations: readonly string[] = []): Buffer {
  const attribute = (oid: string, value: string): Buffer => set(sequence(objectIdentifier(oid), utf8String(value)))
  return sequence(
    ...organizations.map((name) => attribute(oids.organization, name)),
    attribute(oids.commonName, commonName),
  )
}

function* extensions(request: CertificateRequest, ownKey: Buffer, issuerKey: Buffer): Generator<Buffer> {
  const isCa = request.usage === 'ca'
  yield extension(oids.basicConstraints, isCa ? sequence(trueValue) : sequence(), { critical: true })
  const keyUsage = isCa ? digitalSignature | certificateSigning : digitalSignature
  yield extension(oids.keyUsage, bitString(Buffer.from([keyUsage]), isCa ? 2 : 7), { critical: true })
  if (!isCa) {
    const purpose = request.usage === 'server' ? oids.serverAuth : oids.clientAuth
    yield extension(oids.extendedKeyUsage, sequence(objectIdentifier(purpose)))
  }
  yield extension(oids.subjectKeyIdentifier, octetString(keyIdentifier(ownKey)))
  yield extension(oids.authorityKeyIdentifier, sequence(taggedPrimitive(0, keyIdentifier(issuerKey))))
  if (request.altNames?.length) yield extension(oids.subjectAltName, sequence(...request.altNames.map(generalName)))
}

function extension(oid: string, value: Buffer, { critical = false } = {}): Buffer {
  return sequence(objectIdentifier(oid), ...(critical ? [trueValue] : []), octetString(value))
}

function generalName(name: string): Buffer {
  return isIP(name) ? taggedPrimitive(7, ipBytes(name)) : taggedPrimitive(2, Buffer.from(name))
}

function keyIdentifier(publicKeyInfo: Buffer): Buffer {
  return createHash('sha256').update(publicKeyInfo).digest().subarray(0, 20)
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}
