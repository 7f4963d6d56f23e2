import { createPublicKey } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstAddress } from '../../apiserver/control-plane.ts'
import { type ApiServer, startApiServer } from '../../apiserver/server.ts'
import { bootstrap } from '../../controllers/bootstrap.ts'
import { startControllers } from '../../controllers/index.ts'
import type { Client } from '../../shared/client/client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { knownFeatureGates } from '../../shared/config/feature-gates.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import type { Logger } from '../../shared/log/log.ts'
import { type ClusterPki, ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { readIfExists, writePrivately } from '../../shared/pki/files.ts'
import { clusterOptions } from '../cluster-options.ts'
import { stateDirectory } from '../state-directory.ts'
import { startNode } from '../supervisor/node.ts'
import { createKlog } from './klog.ts'
import { type KubeApiserverSettings, readKubeApiserverFlags } from './kube-apiserver-flags.ts'

const nodeName = 'node-1'
const controllerManager = {
  name: 'system:kube-controller-manager',
  groups: ['system:masters', 'system:authenticated'],
}

/** What envtest starts as `kube-apiserver`: an API server and, like the real one, nothing else unless asked for. Resolves when it serves. */
export async function runKubeApiserver(args: readonly string[]): Promise<void> {
  const settings = readKubeApiserverFlags(args)
  const log = createKlog((line) => process.stderr.write(line))
  for (const flag of settings.ignored) log.warn({ flag }, 'Flag has no effect here')
  const { host, port, serviceCidr } = settings
  const pki = ensureClusterPki({
    directory: join(settings.certDir, 'kubestage', 'pki'),
    nowMs: realClock.now(),
    host,
    serviceAddress: firstAddress(serviceCidr),
    nodeName,
  })
  const tls = servingPair(settings, pki)
  const clientCa = settings.clientCaFile ? readFileSync(settings.clientCaFile, 'utf8') : ''
  const server = await startApiServer({
    host,
    port,
    tls: { ...tls, clientCa: `${pki.ca.cert}\n${clientCa}` },
    kubeletClient: { ...pki.apiServerKubeletClient, ca: pki.ca.cert },
    serviceAccountKey: settings.signingKeyFile ? keyPairFrom(settings.signingKeyFile) : pki.serviceAccountKey,
    serviceCidr,
    alwaysAllow: settings.alwaysAllow,
    disabledAdmissionPlugins: settings.disabledAdmissionPlugins,
    featureGates: { ...knownFeatureGates, ...settings.featureGates },
    clock: realClock,
    log,
  })
  const client = server.client(controllerManager)
  const stopRest = settings.controllers
    ? await startRest({ settings, server, client, pki, log, servingCert: tls.cert })
    : await bootstrap(client, { securePort: server.port, clusterIP: firstAddress(serviceCidr) }).then(
        () => async () => {},
      )
  log.info(`Serving securely on ${host}:${server.port}`)
  const stop = (): void =>
    void stopRest()
      .then(() => server.close())
      .then(() => process.exit(0))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
}

interface RestOptions {
  settings: KubeApiserverSettings
  server: ApiServer
  client: Client
  pki: ClusterPki
  log: Logger
  servingCert: string
}

/** Controllers and, if wanted, a node; resolves to how to stop them. */
async function startRest({
  settings,
  server,
  client,
  pki,
  log,
  servingCert,
}: RestOptions): Promise<() => Promise<void>> {
  const controllers = await startControllers({
    client,
    clock: realClock,
    log,
    resources: server.resources,
    scheduler: true,
    ca: pki.ca,
    securePort: server.port,
    kubernetesServiceIP: firstAddress(settings.serviceCidr),
  })
  if (!settings.node) return () => controllers.close()
  const { values } = await resolveOptions(clusterOptions, { args: [], env: {} })
  const state = stateDirectory(join(settings.certDir, 'kubestage'))
  mkdirSync(state.logs, { recursive: true, mode: 0o700 })
  const node = await startNode(
    {
      settings: { ...values, nodeName },
      state,
      // Whoever issued it, the kubelet believes the very certificate that we serve with.
      pki: { ...pki, ca: { ...pki.ca, cert: servingCert } },
      url: `https://${settings.host}:${server.port}`,
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

/** The pair that is there, or ours, put where clients look for it. */
function servingPair(
  { certDir, certFile, keyFile }: KubeApiserverSettings,
  pki: ClusterPki,
): { cert: string; key: string } {
  if (certFile && keyFile) return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
  const files = { cert: join(certDir, 'apiserver.crt'), key: join(certDir, 'apiserver.key') }
  const [cert, key] = [readIfExists(files.cert), readIfExists(files.key)]
  if (cert && key) return { cert, key }
  const made = { cert: pki.apiServer.cert + pki.ca.cert, key: pki.apiServer.key }
  writePrivately(files.key, made.key)
  writePrivately(files.cert, made.cert)
  return made
}

const keyPairFrom = (file: string) => async () => {
  const privateKey = readFileSync(file, 'utf8')
  return { privateKey, publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString() }
}
