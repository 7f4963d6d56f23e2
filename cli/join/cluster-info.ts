import { load } from 'js-yaml'
import { type BootstrapToken, isSameSecret } from '../../shared/api/bootstrap-token.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { detachedSignature } from '../../shared/pki/detached-signature.ts'
import { publicKeyHashes } from '../../shared/pki/public-key-hash.ts'

/** The signature of a token that was just created may come a moment later. */
export class UnsignedError extends ConfigError {}

const another = 'take the command from kubestage token create --print-join-command'

export interface Expected {
  /** Where the data is from, for messages. */
  place: string
  token: BootstrapToken
  /** `sha256:…` of public keys, one of which the CA must have; none: every CA will do. */
  pins: readonly string[]
}

/**
 * The cluster's CA, in PEM, by the data of the ConfigMap `cluster-info`, which came over a connection that proves
 * nothing: the token has to have signed it, and the CA has to be pinned. Throws a ConfigError. Upstream:
 * cmd/kubeadm/app/discovery/token.
 */
export function trustedCa(data: Readonly<Record<string, string>> = {}, { place, token, pins }: Expected): string {
  const content = data.kubeconfig
  if (!content) throw new ConfigError(`${place}: cluster-info has no kubeconfig, so nodes cannot join with a token`)
  const signature = data[`jws-kubeconfig-${token.id}`]
  if (!signature)
    throw new UnsignedError(
      `${place}: token "${token.id}" is unknown to this cluster, expired, or not for signing; ${another}`,
    )
  if (!isSameSecret(signature, detachedSignature(content, token)))
    throw new ConfigError(`${place}: cluster-info is not signed by this token, so it cannot be trusted; ${another}`)
  const ca = caIn(content)
  const hashes = hashesOf(ca)
  if (hashes.length === 0) throw new ConfigError(`${place}: cluster-info has no certificate of a CA`)
  if (pins.length > 0 && !hashes.some((hash) => pins.includes(hash)))
    throw new ConfigError(
      `${place}: the cluster's CA has the hash ${hashes.join(', ')}, not the one that was given: this is another cluster; ${another}`,
    )
  return ca
}

function caIn(content: string): string {
  const parsed = readYaml(content) as { clusters?: { cluster?: Record<string, unknown> }[] } | undefined
  const base64 = parsed?.clusters?.[0]?.cluster?.['certificate-authority-data']
  return typeof base64 === 'string' ? Buffer.from(base64, 'base64').toString('latin1') : ''
}

function readYaml(content: string): unknown {
  try {
    return load(content)
  } catch {
    return undefined
  }
}

function hashesOf(ca: string): string[] {
  try {
    return publicKeyHashes(ca)
  } catch {
    return []
  }
}
