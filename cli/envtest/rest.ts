import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ApiServer } from '../../apiserver/server.ts'
import { firstAddress } from '../../cluster/addresses.ts'
import { clusterOptions } from '../../cluster/settings.ts'
import { stateDirectory } from '../../cluster/state-directory.ts'
import { startNode } from '../../cluster/supervisor/node.ts'
import { startControllers } from '../../controllers/index.ts'
import type { Client } from '../../shared/client/client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import type { Logger } from '../../shared/log/log.ts'
import type { ClusterPki } from '../../shared/pki/cluster-pki.ts'
import type { KubeApiserverSettings } from './kube-apiserver-flags.ts'

export interface RestOptions {
  settings: KubeApiserverSettings
  server: ApiServer
  client: Client
  pki: ClusterPki
  log: Logger
  servingCert: string
  clientCa: string
  nodeName: string
}

/** Controllers and, if wanted, a node; resolves to how to stop them. */
export async function startRest({
  settings,
  server,
  client,
  pki,
  log,
  servingCert,
  clientCa,
  nodeName,
}: RestOptions): Promise<() => Promise<void>> {
  // Kubelet and pods trust the serving certificate itself, from any issuer.
  const rootCa = servingCert.includes(pki.ca.cert) ? servingCert : `${servingCert.trimEnd()}\n${pki.ca.cert}`
  const url = `https://${settings.host}:${server.port}`
  const controllers = await startControllers({
    client,
    clock: realClock,
    log,
    resources: server.resources,
    scheduler: true,
    featureGates: settings.featureGates,
    ca: pki.ca,
    rootCa,
    clientCa,
    requestHeaderCa: pki.frontProxyCa.cert,
    serverUrl: url,
    securePort: server.port,
    kubernetesServiceIP: firstAddress(settings.serviceCidr),
    host: settings.host,
  })
  if (!settings.node) return () => controllers.close()
  const { values } = await resolveOptions(clusterOptions, { args: [], env: {} })
  const state = stateDirectory(join(settings.certDir, 'kubestage'))
  mkdirSync(state.logs, { recursive: true, mode: 0o700 })
  const node = await startNode(
    {
      settings: { ...values, nodeName, featureGates: settings.featureGates },
      state,
      clusterRoot: resolve(settings.certDir),
      pki: { ...pki, ca: { ...pki.ca, cert: servingCert } },
      urls: [url],
      clock: realClock,
      timeOriginMs: Math.floor(realClock.now() / 1000) * 1000,
      onTrouble: (line) => log.warn(line),
    },
    client,
  )
  return async () => {
    await node.stop()
    await controllers.close()
  }
}
