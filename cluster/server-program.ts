import { dirname, join, resolve } from 'node:path'
import { configuredPlugins } from '../apiserver/http/plugins/configured-plugins.ts'
import { apiServerOptions } from '../apiserver/options.ts'
import { createMovableClock } from '../shared/clock/movable-clock.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { endpointHosts } from '../shared/config/endpoint-option.ts'
import type { LoopFlags } from '../shared/config/loop-options.ts'
import { option, type Values } from '../shared/config/option.ts'
import { path, port, subdomain, text } from '../shared/config/option-types.ts'
import { configOption, type Resolved } from '../shared/config/resolve.ts'
import { clusterClock, timeOriginOption } from '../shared/config/time-options.ts'
import { createLog, type Logger } from '../shared/log/log.ts'
import type { KeyPair } from '../shared/pki/certificate.ts'
import { type ClusterPki, ensureBootstrapper, ensureClusterPki } from '../shared/pki/cluster-pki.ts'
import { writeKubeconfig } from '../shared/pki/kubeconfig-file.ts'
import { firstAddress } from './addresses.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import type { ControlPlaneOptions } from './control-plane-options.ts'
import { explainListening } from './explain-listening.ts'

const {
  controllers: _controllers,
  clusterCidr: _clusterCidr,
  nodeMonitorGracePeriod: _gracePeriod,
  horizontalPodAutoscalerSyncPeriod: _syncPeriod,
  horizontalPodAutoscalerDownscaleStabilization: _stabilization,
  ...ofServer
} = apiServerOptions

/** Defines the options of an API server that has no state folder of its own. */
export const serverProgramOptions = {
  config: configOption,
  ...ofServer,
  ownPort: option(port, {
    default: 0,
    help: 'A second port, of this server alone; other servers of this machine may then share --port. 0 for none',
  }),
  certDir: option(path, {
    default: '.kubestage/pki',
    help: 'Folder of the CA and all certificates; made where missing',
  }),
  kubeconfig: option(path, {
    default: '.kubestage/kubeconfig',
    help: "Where to write an administrator's kubeconfig",
  }),
  kubeconfigServer: option(text, {
    default: '',
    help: 'Address of the API server in it, where clients need another than we know',
  }),
  bootstrapKubeconfig: option(path, {
    default: '',
    help: "Where to write a kubeconfig with which kubelets may join (a kubelet's --bootstrap-kubeconfig)",
  }),
  bootstrapServer: option(text, { default: '', help: 'Address of the API server in that one' }),
  timeOrigin: timeOriginOption,
  nodeName: option(subdomain, { default: 'node-1', help: 'Node to make a kubelet certificate for' }),
}

type ServerValues = Values<typeof serverProgramOptions>

export interface ServerProgram {
  controlPlane: ControlPlane
  pki: ClusterPki
  log: Logger
  /** Writes the kubeconfig of another user of the cluster. */
  writeUser(file: string, user: KeyPair, server?: string): Promise<void>
}

/** Starts an API server with the loops that are chosen, and writes kubeconfigs for its clients. */
export async function startServerProgram(
  resolved: Pick<Resolved<typeof serverProgramOptions>, 'origins' | 'file'> & { values: ServerValues },
  loops: Pick<ControlPlaneOptions, 'controllers' | 'scheduler' | 'clusterCidr' | keyof LoopFlags>,
): Promise<ServerProgram> {
  const { values } = resolved
  const { host, serviceCidr, certDir, nodeName, logLevel, tlsSan, controlPlaneEndpoint } = values
  const log = createLog({ level: logLevel, component: 'apiserver' })
  const serviceAddress = firstAddress(serviceCidr)
  const nowMs = realClock.now()
  const altNames = [...tlsSan, ...endpointHosts(controlPlaneEndpoint)]
  const pki = ensureClusterPki({ directory: certDir, nowMs, host, serviceAddress, nodeName, altNames })
  void [pki.kubeletClient, pki.kubeletServer] // their files are there from now on
  const controlPlane = await startControlPlane({
    ...values,
    ownPort: values.ownPort || undefined,
    ...loops,
    plugins: await configuredPlugins(resolved, realClock),
    // Each kubelet makes the folders on its own machine, at this path.
    volumesDir: join(dirname(resolve(certDir)), 'volumes'),
    joinUrl: values.bootstrapServer || values.kubeconfigServer,
    pki,
    clock: createMovableClock(clusterClock(realClock, values)),
    log,
  }).catch(explainListening(values))
  const server = values.kubeconfigServer || controlPlane.url
  const access = { name: 'kubestage', server, ca: pki.ca.cert }
  const writeUser = async (file: string, user: KeyPair, other = server): Promise<void> => {
    const trouble = await writeKubeconfig(file, { ...access, server: other, user })
    if (trouble) log.warn(trouble)
  }
  await writeUser(values.kubeconfig, pki.admin)
  if (values.bootstrapKubeconfig) {
    const user = ensureBootstrapper({ directory: certDir, nowMs }, pki.ca)
    await writeUser(values.bootstrapKubeconfig, user, values.bootstrapServer || controlPlane.url)
  }
  log.info({ url: controlPlane.url, kubeconfig: values.kubeconfig }, 'ready')
  return { controlPlane, pki, log, writeUser }
}
