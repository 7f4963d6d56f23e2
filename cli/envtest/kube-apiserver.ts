import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstAddress } from '../../apiserver/control-plane.ts'
import { kubeletCredentials } from '../../apiserver/http/kubelet-proxy.ts'
import { startApiServer } from '../../apiserver/server.ts'
import { bootstrap } from '../../controllers/bootstrap.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { knownFeatureGates } from '../../shared/config/feature-gates.ts'
import { type ClusterPki, ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import { readIfExists, writePrivately } from '../../shared/pki/files.ts'
import type { SigningKeySource } from '../../shared/pki/signing-key.ts'
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
    kubeletClient: kubeletCredentials(pki),
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
    ? await (await import('./rest.ts')).startRest({
        settings,
        server,
        client,
        pki,
        log,
        servingCert: tls.cert,
        nodeName,
      })
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

function keyPairFrom(file: string): SigningKeySource {
  const privateKey = readFileSync(file, 'utf8')
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
  const pair = { privateKey, publicKey }
  return { kept: () => pair, make: async () => pair }
}
