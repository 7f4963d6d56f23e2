import { type BootstrapTokenSecret, tokenIdOf, tokenTimeLeftMs, tokenValue } from '../../shared/api/bootstrap-token.ts'

import { detachedSignature } from '../../shared/pki/detached-signature.ts'

const signaturePrefix = 'jws-kubeconfig-'

/**
 * The data of cluster-info with one signature of its `kubeconfig` for each token that may sign, and no other
 * signatures. Undefined without a kubeconfig. Upstream: pkg/controller/bootstrap/bootstrapsigner.go.
 */
export function signedData(
  data: Readonly<Record<string, string>> | undefined,
  secrets: Iterable<BootstrapTokenSecret>,
  nowMs: number,
): Record<string, string> | undefined {
  const content = data?.kubeconfig
  if (content === undefined) return undefined
  const signed = Object.fromEntries(Object.entries(data ?? {}).filter(([key]) => !key.startsWith(signaturePrefix)))
  for (const secret of secrets) {
    const token = signingToken(secret, nowMs)
    if (token) signed[signaturePrefix + token.id] = detachedSignature(content, token)
  }
  return signed
}

/** Returns undefined for a token that is malformed, expired or not meant for signing. */
function signingToken(secret: BootstrapTokenSecret, nowMs: number): { id: string; secret: string } | undefined {
  const id = tokenIdOf(secret.metadata.name ?? '')
  const token = tokenValue(secret, 'token-secret')
  if (id === undefined || tokenValue(secret, 'token-id') !== id || token === '') return undefined
  if (tokenTimeLeftMs(secret, nowMs) <= 0 || tokenValue(secret, 'usage-bootstrap-signing') !== 'true') return undefined
  return { id, secret: token }
}
