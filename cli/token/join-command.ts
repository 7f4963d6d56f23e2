import { isLoopback } from '../../shared/client/loopback.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { publicKeyHashes } from '../../shared/pki/public-key-hash.ts'

export interface JoinCommand {
  text: string
  /** Says what limits the use of the command. */
  notice?: string
}

/** The command line that makes a machine a node. Upstream: cmd/kubeadm/app/cmd/util/join.go. */
export function joinCommand(
  { server, ca = '' }: Pick<ClusterAccess, 'server' | 'ca'>,
  token: string,
  servers: readonly string[],
): JoinCommand {
  const hashes = publicKeyHashes(ca)
  if (hashes.length === 0) throw new ConfigError('the kubeconfig names no CA of the cluster, whose hash a node needs')
  const places = servers.length > 0 ? servers : [new URL(server).host]
  const pins = hashes.map((hash) => `--discovery-token-ca-cert-hash ${hash}`)
  const text = ['kubestage join', ...places, '--token', token, ...pins].join(' ')
  const near = places.filter((place) => isLoopback(new URL(`https://${place}`).hostname))
  if (near.length === 0) return { text }
  const notice = `${near.join(', ')}: this address works on this machine only; for other machines start the cluster with --host and --tls-san, or name its address with --server`
  return { text, notice }
}
