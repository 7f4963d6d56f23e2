import { join } from 'node:path'
import { kubeletCredentials } from '../../apiserver/http/proxy/kubelet-proxy.ts'
import { startApiServer } from '../../apiserver/server.ts'
import { firstAddress } from '../../cluster/addresses.ts'
import { explainListening } from '../../cluster/explain-listening.ts'
import { bootstrap } from '../../controllers/server-objects/bootstrap.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { collectAlone } from '../../shared/memory/collect-alone.ts'
import { settle } from '../../shared/memory/settle.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { clientCertificates, servingPair, signingKey } from './credentials.ts'
import { endWithParent } from './end-with-parent.ts'
import { createKlog } from './klog.ts'
import { readKubeApiserverFlags } from './kube-apiserver-flags.ts'

const nodeName = 'node-1'
const controllerManager = {
  name: 'system:kube-controller-manager',
  groups: ['system:masters', 'system:authenticated'],
}

/**
 * Runs the program that envtest starts as `kube-apiserver`: an API server and, as with the real one, nothing else
 * unless a flag asks for it. Resolves when it serves.
 */
export async function runKubeApiserver(args: readonly string[]): Promise<void> {
  const settings = readKubeApiserverFlags(args)
  collectAlone()
  const log = createKlog((line) => process.stderr.write(line))
  for (const flag of settings.ignored) log.warn(flag, 'Flag has no effect here')
  const { host, port, serviceCidr } = settings
  const pki = ensureClusterPki({
    directory: join(settings.certDir, 'kubestage', 'pki'),
    nowMs: realClock.now(),
    host,
    serviceAddress: firstAddress(serviceCidr),
    nodeName,
  })
  const tls = servingPair(settings, pki)
  const clientCa = `${pki.ca.cert}\n${clientCertificates(settings)}`
  const server = await startApiServer({
    host,
    port,
    tls: { ...tls, clientCa },
    kubeletClient: kubeletCredentials(pki, undefined),
    frontProxyClient: () => pki.frontProxyClient,
    serviceAccountKey: signingKey(settings) ?? pki.serviceAccountKey,
    serviceCidr,
    alwaysAllow: settings.alwaysAllow,
    bootstrapTokens: settings.bootstrapTokens,
    disabledAdmissionPlugins: settings.disabledAdmissionPlugins,
    featureGates: settings.featureGates,
    clock: realClock,
    lastStateMs: 2,
    log,
  }).catch(explainListening({ host, port, flags: { host: '--bind-address', port: '--secure-port' } }))
  const client = server.client(controllerManager, { exact: true })
  const stopRest = settings.controllers
    ? await (await import('./rest.ts')).startRest({
        settings,
        server,
        client,
        pki,
        log,
        servingCert: tls.cert,
        clientCa,
        nodeName,
      })
    : await bootstrap(client, {
        securePort: server.port,
        clusterIP: firstAddress(serviceCidr),
        host,
        clientCa,
        requestHeaderCa: pki.frontProxyCa.cert,
        nowMs: realClock.now(),
      }).then(() => async () => {})
  settle(realClock)
  log.info(`Serving securely on ${host}:${server.port}`)
  const stop = (): void =>
    void stopRest()
      .then(() => server.close())
      .then(() => process.exit(0))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  endWithParent(realClock, stop)
}
