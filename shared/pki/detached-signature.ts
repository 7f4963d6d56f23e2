import { createHmac } from 'node:crypto'

/**
 * Returns a JSON Web Signature (HS256) without its payload: `header..signature`. Upstream: k8s.io/cluster-bootstrap/token/jws.
 */
export function detachedSignature(content: string, token: { id: string; secret: string }): string {
  const encoded = (text: string): string => Buffer.from(text).toString('base64url')
  const header = encoded(JSON.stringify({ alg: 'HS256', kid: token.id }))
  const signature = createHmac('sha256', token.secret)
    .update(`${header}.${encoded(content)}`)
    .digest('base64url')
  return `${header}..${signature}`
}
