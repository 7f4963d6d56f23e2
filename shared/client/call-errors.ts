/** Words failures of calls to a webhook, a kubelet or a registry as Go's net, crypto/tls and client-go do. */
import { isIP } from 'node:net'
import { type PeerCertificate, checkServerIdentity as tlsCheckServerIdentity } from 'node:tls'
import { dialError } from './network-errors.ts'

/** A webhook could not be asked, or its answer not be read. */
export class CallError extends Error {}

const legacyName = 'ERR_LEGACY_COMMON_NAME'
const unknownAuthority = 'certificate signed by unknown authority'
const certificateErrors: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  CERT_SIGNATURE_FAILURE: unknownAuthority,
  CERT_HAS_EXPIRED: 'certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'certificate has expired or is not yet valid',
}

/** Go's words for an answer that undici cannot read. */
const brokenAnswer = 'net/http: HTTP/1.x transport connection broken'
const answerErrors: Record<string, (message: string) => string> = {
  UND_ERR_SOCKET: (message) => (message === 'other side closed' ? 'EOF' : `${brokenAnswer}: ${message}`),
  UND_ERR_HEADERS_OVERFLOW: () => 'net/http: server response headers exceeded 16384 bytes; aborted',
  ERR_ASSERTION: () => `${brokenAnswer}: malformed HTTP response`,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: () => 'unexpected EOF',
}

/** Maps the number of a TLS alert to what the peer says by it. */
const alerts: Record<string, string> = {
  40: 'handshake failure',
  42: 'bad certificate',
  43: 'unsupported certificate',
  45: 'expired certificate',
  46: 'unknown certificate',
  48: 'unknown certificate authority',
  49: 'access denied',
  70: 'protocol version not supported',
  80: 'internal error',
  112: 'unrecognized name',
  116: 'certificate required',
}

/**
 * Describes, in Go's words, why a request failed before it got an answer. `host` and `port` are the address that was
 * dialled.
 */
export function transportError(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): string {
  const { code = '' } = error
  const certificate = certificateErrors[code]
  if (certificate) return `tls: failed to verify certificate: x509: ${certificate}`
  if (code === legacyName) return `tls: failed to verify certificate: x509: ${error.message}`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `tls: failed to verify certificate: x509: ${nameError(error as NameError)}`
  const alert = /SSL alert number (\d+)/.exec(error.message)?.[1]
  if (alert) return `remote error: tls: ${alerts[alert] ?? `alert(${alert})`}`
  if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'tls: first record does not look like a TLS handshake'
  const answerError = answerErrors[code]
  if (answerError) return answerError(error.message)
  if (error.name === 'HTTPParserError') return `${brokenAnswer}: ${error.message}`
  if (code === 'ECONNRESET' && error.syscall === undefined) return 'EOF'
  return dialError(error, host, port)
}

/** Describes, in Go's words, why a request to `url` failed before it got an answer. */
export function requestError(error: Error, url: string): string {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  return transportError(error, { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) })
}

/** Go ignores the common name: a certificate without other names has none. */
export function checkServerIdentity(host: string, cert: PeerCertificate): Error | undefined {
  if (cert.subjectaltname || isIP(host) !== 0) return tlsCheckServerIdentity(host, cert)
  const problem = 'certificate relies on legacy Common Name field, use SANs instead'
  return Object.assign(new Error(problem), { code: legacyName })
}

interface NameError extends Error {
  host: string
  cert: PeerCertificate
}

function nameError({ host, cert }: NameError): string {
  const names = (cert.subjectaltname ?? '').split(', ').filter(Boolean)
  const of = (type: string) => names.filter((name) => name.startsWith(type)).map((name) => name.slice(type.length))
  const addresses = of('IP Address:')
  const isAddress = /^[\d.]+$|:/.test(host)
  if (isAddress && addresses.length === 0)
    return `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
  const valid = isAddress ? addresses : of('DNS:')
  if (valid.length === 0) return `certificate is not valid for any names, but wanted to match ${host}`
  return `certificate is valid for ${valid.join(', ')}, not ${host}`
}

const byCode: Record<number, string> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
}

/** An answer that is no success. Upstream: apimachinery/pkg/api/errors NewGenericServerResponse. */
export function codeError(code: number, body: string): string {
  const status = statusMessage(body)
  if (status !== undefined) return status
  const known = byCode[code]
  if (known) return known
  const text = body.trim()
  if (code === 403 || code === 406 || code === 415) return text
  if (code >= 500) return `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
  return `the server responded with the status code ${code} but did not return more information`
}

/** A server that speaks Kubernetes says itself what is wrong. */
function statusMessage(body: string): string | undefined {
  try {
    const status = JSON.parse(body) as { kind?: unknown; message?: unknown } | null
    return status?.kind === 'Status' && typeof status.message === 'string' ? status.message : undefined
  } catch {
    return undefined
  }
}
