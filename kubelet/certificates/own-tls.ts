import { join } from 'node:path'
import type { Client } from '../../shared/client/client.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { readInputText } from '../../shared/config/input.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import type { KubeletConfig } from '../config.ts'

/** In PEM; only clients with a certificate of `clientCa`, or a token, may ask. */
export type ServerTls = KeyPair & {
  clientCa: string
  /** Asks for a certificate when the node is registered, and for the next before it ends; `use` gets each. */
  keep?(use: (pair: KeyPair) => void, signal: AbortSignal): Promise<void>
}

export interface OwnTlsOptions {
  config: KubeletConfig
  client: Client
  clock: Clock
  onError(error: unknown): void
}

/**
 * Returns the TLS settings of the kubelet's own API: the configured files, or after a TLS bootstrap a certificate that
 * the kubelet requests. Without either it returns undefined, and the kubelet serves no API.
 */
export async function ownTls({ config, client, clock, onError }: OwnTlsOptions): Promise<ServerTls | undefined> {
  if (config.tlsCertFile)
    return {
      cert: readInputText(config.tlsCertFile),
      key: readInputText(config.tlsPrivateKeyFile),
      clientCa: readInputText(config.clientCaFile),
    }
  if (!config.bootstrapKubeconfig) return undefined
  const { ServingCertificate } = await import('./serving-certificate.ts')
  const { nodeName, nodeIp: nodeIP, rootDir } = config
  const serving = new ServingCertificate({ client, directory: join(rootDir, 'pki'), nodeName, nodeIP, clock, onError })
  const { ca = '' } = await loadKubeconfig(config.kubeconfig)
  return { ...serving.first(), clientCa: ca, keep: (use, signal) => serving.keep(use, signal) }
}
