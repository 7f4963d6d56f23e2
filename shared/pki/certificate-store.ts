import { createPrivateKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { toTime } from '../clock/timestamp.ts'
import { type CertificateRequest, issueCertificate, type KeyPair } from './certificate.ts'
import { readIfExists, writePrivately } from './files.ts'
import { isAddress } from './ip-bytes.ts'
import { asEcKeyText } from './private-key.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const validityMs = 10 * 365 * dayMs
/** A machine's clock may be behind ours. */
const clockSkewMs = hourMs

export interface Identity extends Omit<CertificateRequest, 'notBefore' | 'notAfter'> {
  /** Stem of the two files, `<name>.crt` and `<name>.key`. */
  name: string
}

/**
 * The pair kept in `directory`, or a new one in its place when there is none, it ends within a day, or it says
 * something else.
 */
export function ensureCertificate(directory: string, identity: Identity, nowMs: number, issuer?: KeyPair): KeyPair {
  const files = { cert: join(directory, `${identity.name}.crt`), key: join(directory, `${identity.name}.key`) }
  const kept = { cert: readIfExists(files.cert), key: readIfExists(files.key) }
  if (isUsable(kept, identity, nowMs, issuer)) return inToday(kept, files.key)
  const notBefore = toTime(nowMs - clockSkewMs)
  const notAfter = toTime(nowMs + validityMs)
  const issued = issueCertificate({ ...identity, notBefore, notAfter }, issuer)
  writePrivately(files.key, issued.key)
  writePrivately(files.cert, issued.cert)
  return issued
}

/**
 * A key that was written as PKCS #8, by an earlier version, is rewritten: not every client of a kubeconfig reads that.
 */
function inToday(kept: KeyPair, file: string): KeyPair {
  const key = asEcKeyText(kept.key)
  if (key !== kept.key) writePrivately(file, key)
  return { ...kept, key }
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
    return false // no longer a certificate or key: made again
  }
}

function answersTo(certificate: X509Certificate, name: string): boolean {
  return (isAddress(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined
}

/** As node:crypto prints a subject. */
function subjectText({ commonName, organizations = [] }: Identity): string {
  return [...organizations.map((name) => `O=${name}`), `CN=${commonName}`].join('\n')
}
