import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair as generateKeyPairWithCallback,
  X509Certificate,
} from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { toTime } from '../clock/timestamp.ts'
import { type CertificateRequest, issueCertificate, type KeyPair } from './certificate.ts'
import { readIfExists, writePrivately } from './files.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const validityMs = 10 * 365 * dayMs
/** A machine's clock may be behind ours. */
const clockSkewMs = hourMs

export interface Identity extends Omit<CertificateRequest, 'notBefore' | 'notAfter'> {
  /** Stem of the two files, `<name>.crt` and `<name>.key`. */
  name: string
}

/** The pair kept in `directory`, or a new one in its place when there is none, it ends within a day, or it says something else. */
export function ensureCertificate(directory: string, identity: Identity, nowMs: number, issuer?: KeyPair): KeyPair {
  const files = { cert: join(directory, `${identity.name}.crt`), key: join(directory, `${identity.name}.key`) }
  const kept = { cert: readIfExists(files.cert), key: readIfExists(files.key) }
  if (isUsable(kept, identity, nowMs, issuer)) return kept
  const notBefore = toTime(nowMs - clockSkewMs)
  const notAfter = toTime(nowMs + validityMs)
  const issued = issueCertificate({ ...identity, notBefore, notAfter }, issuer)
  writePrivately(files.key, issued.key)
  writePrivately(files.cert, issued.cert)
  return issued
}

/** As PEM. */
export interface SigningKeyPair {
  privateKey: string
  publicKey: string
}

const generateKeyPair = promisify(generateKeyPairWithCallback)

/** The key with which service-account tokens are signed, and its public half. A new one takes a tenth of a second, beside the main thread. */
export async function ensureSigningKey(directory: string): Promise<SigningKeyPair> {
  const files = { privateKey: join(directory, 'sa.key'), publicKey: join(directory, 'sa.pub') }
  const kept = { privateKey: readIfExists(files.privateKey), publicKey: readIfExists(files.publicKey) }
  if (arePair(kept)) return kept
  const pair = await generateKeyPair('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  writePrivately(files.privateKey, pair.privateKey)
  writePrivately(files.publicKey, pair.publicKey)
  return pair
}

function arePair(kept: Partial<SigningKeyPair>): kept is SigningKeyPair {
  if (!kept.privateKey || !kept.publicKey) return false
  try {
    return createPublicKey(kept.privateKey).equals(createPublicKey(kept.publicKey))
  } catch {
    return false // not keys any more: made anew
  }
}

function isUsable(
  kept: Partial<KeyPair>,
  identity: Identity,
  nowMs: number,
  issuer: KeyPair | undefined,
): kept is KeyPair {
  if (!kept.cert || !kept.key) return false
  try {
    const certificate = new X509Certificate(kept.cert)
    return (
      certificate.checkPrivateKey(createPrivateKey(kept.key)) &&
      certificate.validToDate.getTime() > nowMs + dayMs &&
      certificate.subject === subjectText(identity) &&
      certificate.verify(new X509Certificate(issuer?.cert ?? kept.cert).publicKey) &&
      (identity.altNames ?? []).every((name) => answersTo(certificate, name))
    )
  } catch {
    return false // not a certificate or key any more: made anew
  }
}

function answersTo(certificate: X509Certificate, name: string): boolean {
  return (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined
}

/** As node:crypto prints a subject. */
function subjectText({ commonName, organizations = [] }: Identity): string {
  return [...organizations.map((name) => `O=${name}`), `CN=${commonName}`].join('\n')
}
