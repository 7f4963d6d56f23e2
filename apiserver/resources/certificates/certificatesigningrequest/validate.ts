import { X509Certificate } from 'node:crypto'
import type { V1CertificateSigningRequestSpec } from '@kubernetes/client-node'
import type { Wire } from '../../../../shared/api/types.ts'
import { readSigningRequest, UnknownSignature, WrongSignature } from '../../../../shared/pki/signing-request.ts'
import { duplicate, forbidden, invalid, notSupported, required, tooLong } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { dns1123Label, dns1123Subdomain } from '../../../validation/names.ts'
import { repetition } from '../../../validation/repetition.ts'
import { reject, validateRequiredChoice } from '../../parts/messages.ts'

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
]
const MIN_SECONDS = 600
const BLOCK = /-----BEGIN ([^-]+)-----[\s\S]*?-----END \1-----/g

const blocksOf = (data: string): string[] =>
  [...Buffer.from(data, 'base64').toString('latin1').matchAll(BLOCK)].map(([, type]) => type ?? '')

/** Holds the words of Go's crypto packages, by the kind of the key. */
const wrongSignature: Record<string, string> = {
  ec: 'x509: ECDSA verification failure',
  rsa: 'crypto/rsa: verification error',
  ed25519: 'x509: Ed25519 verification failure',
}

/**
 * Returns undefined for a request signed with its own key. Upstream: validateCSR in pkg/apis/certificates/validation.
 */
function problemOf(request: string): string | undefined {
  if (blocksOf(request)[0] !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST'
  try {
    readSigningRequest(Buffer.from(request, 'base64').toString('latin1'))
    return undefined
  } catch (error) {
    if (error instanceof UnknownSignature) return undefined
    if (error instanceof WrongSignature) return wrongSignature[error.keyType ?? ''] ?? error.message
    return `asn1: structure error: ${(error as Error).message}`
  }
}

export function validateRequest(spec: Wire<V1CertificateSigningRequestSpec>, errors: FieldErrors): void {
  const problem = problemOf(spec.request ?? '')
  if (problem !== undefined) errors.push(invalid('spec.request', spec.request ?? null, problem))
  if (!spec.usages?.length) errors.push(required('spec.usages'))
  const isRepeated = repetition()
  for (const [index, usage] of (spec.usages ?? []).entries()) {
    if (!usages.includes(usage)) errors.push(notSupported(`spec.usages[${index}]`, usage, usages))
    if (isRepeated(usage)) errors.push(duplicate(`spec.usages[${index}]`, usage))
  }
  if (spec.signerName === 'kubernetes.io/legacy-unknown')
    errors.push(
      invalid('spec.signerName', spec.signerName, 'the legacy signerName is not allowed via this API version'),
    )
  else validateSigner(spec.signerName, errors)
  const seconds = spec.expirationSeconds
  if (seconds !== undefined && seconds < MIN_SECONDS)
    errors.push(
      invalid(
        'spec.expirationSeconds',
        seconds,
        `may not specify a duration less than ${MIN_SECONDS} seconds (${MIN_SECONDS / 60} minutes)`,
      ),
    )
}

function validateSigner(name: string, errors: FieldErrors): void {
  if (!name) {
    errors.push(required('spec.signerName'))
    return
  }
  const [domain = '', path, ...more] = name.split('/')
  const field = 'spec.signerName'
  if (path === undefined || more.length > 0) {
    const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
    errors.push(invalid(field, name, form))
    return
  }
  if (domain.length > maxDomain) errors.push(tooLong(field, maxDomain))
  validateLabels(domain, dns1123Label, errors)
  if (!domain.includes('.'))
    errors.push(invalid(field, domain, 'should be a domain with at least two segments separated by dots'))
  validateLabels(path, dns1123Subdomain, errors)
  if (name.length > maxSignerName) errors.push(tooLong(field, maxSignerName))
}

const maxDomain = 253
const maxSignerName = 2 * maxDomain + 63 + 2

/** Refuses the first wrong one of the labels that dots separate. */
function validateLabels(text: string, problemsOf: (label: string) => string[], errors: FieldErrors): void {
  const wrong = text.split('.').find((label) => problemsOf(label).length > 0)
  if (wrong === undefined) return
  const messages = problemsOf(wrong).map((problem) => `validating label ${JSON.stringify(wrong)}: ${problem}`)
  reject(errors, 'spec.signerName', text, messages)
}

interface Condition {
  type: string
  status?: string
}

export function validateConditions(conditions: Condition[], errors: FieldErrors): void {
  const seen = new Set<string>()
  for (const [index, { type, status }] of conditions.entries()) {
    const at = `status.conditions[${index}]`
    if (!type) errors.push(required(`${at}.type`))
    const decided = type === 'Approved' || type === 'Denied' || type === 'Failed'
    const supported = decided ? ['True'] : ['False', 'True', 'Unknown']
    validateRequiredChoice(status, supported, `${at}.status`, errors)
    const other = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : undefined
    if (other && seen.has(other))
      errors.push(invalid('status.conditions', type, 'Approved and Denied conditions are mutually exclusive'))
    if (seen.has(type)) errors.push(duplicate(`${at}.type`, type))
    seen.add(type)
  }
}

/** Decisions are for ever, and made through the endpoint for them only. */
export function validateConditionsUpdate(
  conditions: Condition[],
  old: Condition[],
  subresource: string | undefined,
  errors: FieldErrors,
): void {
  const count = (list: Condition[], type: string) => list.filter((condition) => condition.type === type).length
  for (const type of ['Approved', 'Denied', 'Failed'])
    if (count(conditions, type) < count(old, type))
      errors.push(forbidden('status.conditions', `updates may not remove a condition of type ${JSON.stringify(type)}`))
  if (subresource === 'approval') return
  for (const type of ['Approved', 'Denied'])
    if (count(conditions, type) > count(old, type))
      errors.push(forbidden('status.conditions', `updates may not add a condition of type ${JSON.stringify(type)}`))
}

const SHOWN = '<certificate data>'
export function validateCertificate(
  certificate: string | undefined,
  old: string | undefined,
  errors: FieldErrors,
): void {
  if (certificate === old) return
  const refuse = (detail: string) => errors.push(invalid('status.certificate', SHOWN, detail))
  if (old) {
    errors.push(
      forbidden(
        'status.certificate',
        'updates may not set certificate content if existing certificate content is not empty',
      ),
    )
    return
  }
  if (!certificate) return
  const types = blocksOf(certificate)
  const other = types.find((type) => type !== 'CERTIFICATE')
  if (other !== undefined) refuse(`only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(other)}`)
  else if (types.length === 0) refuse('must contain at least one CERTIFICATE PEM block')
  else if (!isCertificate(certificate)) refuse('x509: malformed certificate')
}

function isCertificate(data: string): boolean {
  try {
    return new X509Certificate(Buffer.from(data, 'base64')).serialNumber !== ''
  } catch {
    return false
  }
}
