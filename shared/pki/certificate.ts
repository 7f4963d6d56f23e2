import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import {
  bitString,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  tagged,
  taggedPrimitive,
  time,
  trueValue,
} from './der.ts'
import { type ExtendedUsage, type KeyUsage, keyUsageBits, oids } from './identifiers.ts'
import { distinguishedName, generalNames } from './names.ts'
import { pem } from './pem.ts'
import { ecKeyText } from './private-key.ts'

/** Holds a certificate and its private key, both in PEM. */
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
  /** Holds a time in RFC 3339. */
  notBefore: string
  notAfter: string
}

/** Holds the content of a certificate. The parts that a signer only passes on are in DER. */
export interface CertificateContent {
  subject: Uint8Array
  /** Holds a SubjectPublicKeyInfo in DER. */
  publicKeyInfo: Uint8Array
  ca?: boolean
  keyUsages: readonly KeyUsage[]
  extendedUsages: readonly ExtendedUsage[]
  /** Holds GeneralNames in DER. */
  altNames?: Uint8Array
  /** Holds a time in RFC 3339. */
  notBefore: string
  notAfter: string
}

const ours: Record<CertificateRequest['usage'], Pick<CertificateContent, 'ca' | 'keyUsages' | 'extendedUsages'>> = {
  ca: { ca: true, keyUsages: ['digital signature', 'cert sign'], extendedUsages: [] },
  server: { keyUsages: ['digital signature'], extendedUsages: ['server auth'] },
  client: { keyUsages: ['digital signature'], extendedUsages: ['client auth'] },
}
const signatureAlgorithm = sequence(objectIdentifier(oids.ecdsaWithSha256))

/** A new P-256 key and its certificate, signed by `issuer`, or by itself. */
export function issueCertificate(request: CertificateRequest, issuer?: KeyPair): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = ecKeyText(privateKey)
  const { commonName, organizations, altNames, usage, notBefore, notAfter } = request
  const content: CertificateContent = {
    ...ours[usage],
    subject: distinguishedName(commonName, organizations),
    publicKeyInfo: publicKey.export({ type: 'spki', format: 'der' }),
    altNames: altNames?.length ? generalNames(altNames) : undefined,
    notBefore,
    notAfter,
  }
  return { cert: signCertificate(content, issuer ?? { name: commonName, key }), key }
}

/** Signs with the P-256 key of one of our own CAs, whose subject is a common name and nothing else; answers PEM. */
export function signCertificate(content: CertificateContent, issuer: KeyPair | { name: string; key: string }): string {
  const issuerName = 'cert' in issuer ? new X509Certificate(issuer.cert).subject.replace(/^CN=/, '') : issuer.name
  const issuerKeyInfo = createPublicKey(issuer.key).export({ type: 'spki', format: 'der' })
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    signatureAlgorithm,
    distinguishedName(issuerName),
    sequence(time(content.notBefore), time(content.notAfter)),
    content.subject,
    content.publicKeyInfo,
    tagged(3, sequence(...extensions(content, issuerKeyInfo))),
  )
  const signature = sign('sha256', body, createPrivateKey(issuer.key))
  return pem('CERTIFICATE', sequence(body, signatureAlgorithm, bitString(signature)))
}

function* extensions(content: CertificateContent, issuerKeyInfo: Uint8Array): Generator<Buffer> {
  yield extension(oids.basicConstraints, content.ca ? sequence(trueValue) : sequence(), { critical: true })
  if (content.keyUsages.length > 0) yield extension(oids.keyUsage, keyUsageBits(content.keyUsages), { critical: true })
  if (content.extendedUsages.length > 0) {
    const purposes = content.extendedUsages.map((usage) => objectIdentifier(oids.purposes[usage]))
    yield extension(oids.extendedKeyUsage, sequence(...purposes))
  }
  yield extension(oids.subjectKeyIdentifier, octetString(keyIdentifier(content.publicKeyInfo)))
  yield extension(oids.authorityKeyIdentifier, sequence(taggedPrimitive(0, keyIdentifier(issuerKeyInfo))))
  if (content.altNames) yield extension(oids.subjectAltName, content.altNames)
}

function extension(oid: string, value: Uint8Array, { critical = false } = {}): Buffer {
  return sequence(objectIdentifier(oid), ...(critical ? [trueValue] : []), octetString(value))
}

function keyIdentifier(publicKeyInfo: Uint8Array): Buffer {
  return createHash('sha256').update(publicKeyInfo).digest().subarray(0, 20)
}
