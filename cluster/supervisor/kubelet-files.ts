import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { forgetMovedClock } from '../../kubelet/runtime/process/clock-file.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { ClusterPki } from '../../shared/pki/cluster-pki.ts'
import { writePrivately } from '../../shared/pki/files.ts'
import { kubeconfig } from '../../shared/pki/kubeconfig-file.ts'
import type { ClusterSettings } from '../settings.ts'
import type { StateDirectory } from '../state-directory.ts'
import { kubeletConfigFile } from './child-specs.ts'

/** Holds what a kubelet needs to begin. */
export interface KubeletSettings {
  settings: ClusterSettings
  state: StateDirectory
  /** Folder with all files of the cluster; containers cannot see it. */
  clusterRoot: string
  pki: ClusterPki
  /** Lists URLs of all API servers. */
  urls: readonly string[]
  /** Tells when the cluster's time began to run at its own pace, in whole seconds. */
  timeOriginMs: number
}

/**
 * Writes the configuration that the kubelet reads when it begins, and removes what an earlier kubelet was told. The
 * file is JSON, which needs no YAML parser.
 */
export function writeKubeletFiles({ settings, state, clusterRoot, pki, urls, timeOriginMs }: KubeletSettings): void {
  void pki.kubeletServer // its files are there from now on
  forgetMovedClock(state.kubelet)
  const [first = ''] = urls
  const access = kubeconfig({ name: 'kubestage', server: first, ca: pki.ca.cert, user: pki.kubeletClient })
  // Images that were added stay as long as the objects that name them.
  if (settings.storage.engine === 'memory') rmSync(join(state.kubelet, 'images.json'), { force: true })
  const kubeconfigFile = writeJson(join(state.kubelet, 'kubeconfig'), access)
  writeJson(kubeletConfigFile(state), {
    kubeconfig: kubeconfigFile,
    ...(urls.length > 1 && { server: urls }),
    rootDir: state.kubelet,
    staticPodPath: settings.staticPodPath || join(state.kubelet, 'manifests'),
    nodeName: settings.nodeName,
    port: settings.kubeletPort,
    tlsCertFile: join(state.pki, 'kubelet.crt'),
    tlsPrivateKeyFile: join(state.pki, 'kubelet.key'),
    clientCaFile: join(state.pki, 'ca.crt'),
    image: settings.image,
    imagePath: settings.imagePath,
    imageStopSignal: settings.imageStopSignal,
    imageStore: resolve(settings.imageStore || join(clusterRoot, 'images')),
    pullImages: settings.pullImages,
    registryMirror: settings.registryMirror,
    insecureRegistry: settings.insecureRegistry,
    imageGcHighThreshold: settings.imageGcHighThreshold,
    imageGcLowThreshold: settings.imageGcLowThreshold,
    imageMinimumGcAge: `${settings.imageMinimumGcAge}ms`,
    imageMaximumGcAge: `${settings.imageMaximumGcAge}ms`,
    nodeStatusMaxImages: settings.nodeStatusMaxImages,
    imagePullCredentialsVerificationPolicy: settings.imagePullCredentialsVerificationPolicy,
    preloadedImagesVerificationAllowlist: settings.preloadedImagesVerificationAllowlist,
    maxPods: settings.maxPods,
    runtime: settings.runtime,
    isolation: settings.isolation,
    network: settings.network,
    podTunnel: settings.podTunnel,
    endpointLag: `${settings.endpointLag}ms`,
    neighbours: join(clusterRoot, 'networks'),
    hostFiles: settings.hostFiles,
    hiddenPaths: [clusterRoot, ...databaseFiles(settings)],
    allowedUnsafeSysctls: settings.allowedUnsafeSysctls,
    containerLayerSize: settings.containerLayerSize,
    containerLogMaxSize: settings.containerLogMaxSize,
    containerLogMaxFiles: settings.containerLogMaxFiles,
    limits: settings.limits,
    strict: settings.strict,
    podPidsLimit: settings.podPidsLimit,
    featureGates: settings.featureGates,
    shortenRunningKills: settings.shortenRunningKills,
    shutdownGracePeriod: `${settings.shutdownGracePeriod}ms`,
    timeScale: settings.timeScale,
    timeOrigin: toTime(timeOriginMs),
    shutdownGracePeriodCriticalPods: `${settings.shutdownGracePeriodCriticalPods}ms`,
    shutdownGracePeriodByPodPriority: settings.shutdownGracePeriodByPodPriority,
    crashLoopBackOffInitial: `${settings.crashLoopBackOffInitial}ms`,
    crashLoopBackOffMax: `${settings.crashLoopBackOffMax}ms`,
    evictionHard: settings.evictionHard,
    evictionSoft: settings.evictionSoft,
    evictionSoftGracePeriod: Object.fromEntries(
      Object.entries(settings.evictionSoftGracePeriod).map(([signal, ms]) => [signal, `${ms}ms`]),
    ),
    evictionMaxPodGracePeriod: settings.evictionMaxPodGracePeriod,
    evictionMinimumReclaim: settings.evictionMinimumReclaim,
    evictionPressureTransitionPeriod: `${settings.evictionPressureTransitionPeriod}ms`,
    logLevel: settings.logLevel,
  })
}

function writeJson(file: string, content: object): string {
  writePrivately(file, `${JSON.stringify(content, undefined, 2)}\n`)
  return file
}

/** A database has companions beside it. */
const databaseFiles = ({ storage }: ClusterSettings): string[] =>
  storage.engine === 'sqlite' ? ['', '-wal', '-shm'].map((suffix) => `${resolve(storage.file)}${suffix}`) : []
