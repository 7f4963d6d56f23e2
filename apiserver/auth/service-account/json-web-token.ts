import { sign, verify } from 'node:crypto'
import { isMap } from '../../../shared/api/json/json-map.ts'
import type { SigningKey } from './signing-key.ts'

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
/** ECDSA signatures in tokens are the two numbers one after the other, not DER. */
const dsaEncoding = 'ieee-p1363'

/** Returns a signed JSON Web Token (RFC 7519) in its compact form. */
export function signToken({ privateKey: key, algorithm, id }: SigningKey, claims: object): string {
  const signed = `${encode({ alg: algorithm, kid: id })}.${encode(claims)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding }).toString('base64url')}`
}

/** Returns the claims of a token without checking its signature; undefined if the text is not a token. */
export function readClaims(token: string): Record<string, unknown> | undefined {
  const parts = token.split('.')
  if (parts.length !== 3) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1]!, 'base64url').toString('utf8'))
    return isMap(claims) ? claims : undefined
  } catch {
    return undefined
  }
}

export function isSignedBy({ publicKey: key }: SigningKey, token: string): boolean {
  const end = token.lastIndexOf('.')
  return verify(
    'sha256',
    Buffer.from(token.slice(0, end)),
    { key, dsaEncoding },
    Buffer.from(token.slice(end + 1), 'base64url'),
  )
}
