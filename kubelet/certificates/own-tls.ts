import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../../shared/client/client.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import type { KubeletConfig } from '../config.ts'

/** In PEM; only who shows a certificate of `clientCa` may ask. */
export type ServerTls = KeyPair & { clientCa: string }

/** Of the kubelet's own API: what it is given as files; after a bootstrap, what it asks for; else it has no API. */
export async function ownTls(options: {
  config: KubeletConfig
  client: Client
  clock: Clock
}): Promise<ServerTls | undefined> {
  const { config, client, clock } = options
  if (config.tlsCertFile)
    return {
      cert: readFileSync(config.tlsCertFile, 'utf8'),
      key: readFileSync(config.tlsPrivateKeyFile, 'utf8'),
      clientCa: readFileSync(config.clientCaFile, 'utf8'),
    }
  if (!config.bootstrapKubeconfig) return undefined
  const { servingCertificate } = await import('./bootstrap.ts')
  const { nodeName, nodeIp: nodeIP, rootDir } = config
  const directory = join(rootDir, 'pki')
  const pair = await servingCertificate({ client, directory, nodeName, nodeIP, nowMs: clock.machine.now() })
  const { ca = '' } = await loadKubeconfig(config.kubeconfig)
  return { ...pair, clientCa: ca }
}
