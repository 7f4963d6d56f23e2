import { createPrivateKey, X509Certificate } from 'node:crypto'
import { dirname, join } from 'node:path'
import { parseTime, toTime } from '../clock/timestamp.ts'
import { ConfigError } from '../config/option.ts'
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
  /** Clients of this CA read it from the API: one that expires within a day is replaced. */
  isPublished?: boolean
}

/**
 * The pair kept in `directory`, or a new one when there is none. One that an `issuer` signs is also replaced when it
 * ends within a day, or says something else. Throws a ConfigError for a damaged file, and for a CA that cannot be used:
 * a new CA would be another cluster to all who know the old one.
 */
export function ensureCertificate(directory: string, identity: Identity, nowMs: number, issuer?: KeyPair): KeyPair {
  const files = { cert: join(directory, `${identity.name}.crt`), key: join(directory, `${identity.name}.key`) }
  const kept = { cert: readIfExists(files.cert), key: readIfExists(files.key) }
  if (isUsable(kept, identity, nowMs, issuer)) return inToday(kept, files.key)
  const mayReplace = identity.isPublished && hasEnded(kept.cert, nowMs)
  if (!mayReplace) refuseDamaged(files, kept, { issuer, isPublished: identity.isPublished })
  const notBefore = toTime(nowMs - clockSkewMs)
  const notAfter = toTime(nowMs + validityMs)
  const issued = issueCertificate({ ...identity, notBefore, notAfter }, issuer)
  writePrivately(files.key, issued.key)
  writePrivately(files.cert, issued.cert)
  return issued
}

/** Throws a ConfigError where a new pair would take the place of something that it cannot stand for. */
function refuseDamaged(
  files: KeyPair,
  kept: Partial<KeyPair>,
  { issuer, isPublished }: { issuer: KeyPair | undefined; isPublished: boolean | undefined },
): void {
  const anew = issuer
    ? `put back a copy, or remove ${files.cert} and ${files.key}: then the CA signs a new certificate`
    : isPublished
      ? `put back a copy, or remove ${files.cert} and ${files.key}: then the cluster publishes a new CA`
      : `put back a copy, or move ${dirname(files.cert)} away: then the cluster has a new CA, and its kubeconfigs and nodes of before are no longer known`
  const refuse = (what: string): never => {
    throw new ConfigError(`${what}; ${anew}`)
  }
  if (kept.cert !== undefined && !isPem(() => new X509Certificate(kept.cert!))) refuse(`${files.cert} is damaged`)
  if (kept.key !== undefined && !isPem(() => createPrivateKey(kept.key!))) refuse(`${files.key} is damaged`)
  if (issuer) {
    const { issuer: by } = kept.cert === undefined ? {} : new X509Certificate(kept.cert)
    if (by !== undefined && by !== new X509Certificate(issuer.cert).subject) refuse(`${files.cert} is of another CA`)
    return
  }
  if (kept.cert === undefined && kept.key === undefined) return
  for (const part of ['cert', 'key'] as const) if (kept[part] === undefined) refuse(`${files[part]} is missing`)
  refuse(`${files.cert} is not the CA of a Kubestage cluster, has expired, or its key is not ${files.key}`)
}

/** Returns true for a certificate that ends within a day. */
function hasEnded(cert: string | undefined, nowMs: number): boolean {
  if (cert === undefined || !isPem(() => new X509Certificate(cert))) return false
  return parseTime(new X509Certificate(cert).validTo) <= nowMs + dayMs
}

function isPem(parse: () => unknown): boolean {
  try {
    return parse() !== undefined
  } catch {
    return false
  }
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
      parseTime(certificate.validTo) > nowMs + dayMs &&
      certificate.subject === subjectText(identity) &&
      certificate.verify(new X509Certificate(issuer?.cert ?? kept.cert).publicKey) &&
      (identity.altNames ?? []).every((name) => answersTo(certificate, name))
    )
  } catch {
    return false
  }
}

function answersTo(certificate: X509Certificate, name: string): boolean {
  return (isAddress(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined
}

/** Formats a subject as node:crypto prints it. */
function subjectText({ commonName, organizations = [] }: Identity): string {
  return [...organizations.map((name) => `O=${name}`), `CN=${commonName}`].join('\n')
}
