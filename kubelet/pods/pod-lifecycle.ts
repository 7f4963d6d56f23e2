import { mkdirSync } from 'node:fs'
import type { Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { ActionHandler } from '../actions/action.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { ContainerKiller } from '../lifecycle/container-killer.ts'
import { createHookRunner } from '../lifecycle/hook-runner.ts'
import { createRunningGraces } from '../lifecycle/running-grace.ts'
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts'
import type { MachineFacts } from '../node/machine.ts'
import { podDir } from '../pod/folders.ts'
import { goDuration } from '../pod/go-duration.ts'
import { createProber } from '../prober/prober.ts'
import type { ContainerRuntime } from '../runtime/container-runtime.ts'
import { nextRestartCount } from '../status/container-statuses.ts'
import { createPodStatuses } from '../status/pod-statuses.ts'
import { createStatusManager, type StatusManager } from '../status/status-manager.ts'
import { noTerminations } from '../terminations/no-terminations.ts'
import { ApiTerminationRecorder } from '../terminations/termination-recorder.ts'
import { containerMounts } from '../volumes/container-mounts.ts'
import { createVolumeManager, type VolumeManager } from '../volumes/volume-manager.ts'
import { createVolumeSources } from '../volumes/volume-sources.ts'
import { newMessageFile } from './container-config.ts'
import { containerEnvironment } from './environment.ts'
import { createEnvironmentSources } from './environment-sources.ts'
import { hostsMount } from './hosts-file.ts'
import { createImagePuller } from './image-puller.ts'
import { createPodCleanup } from './pod-cleanup.ts'
import { createKillPod } from './pod-killer.ts'
import { PodResizes, type Shortage } from './pod-resizes.ts'
import { createPodWorkers, type PodWorkers } from './pod-workers.ts'
import { PortConflicts } from './port-conflicts.ts'
import { createReasonCache } from './reason-cache.ts'
import { resolverMount } from './resolver-file.ts'
import { createRestartAll } from './restart-all.ts'
import { createRestartBackoff, type RestartBackoffOptions } from './restart-backoff.ts'
import { createRuntimeCache } from './runtime-cache.ts'
import { isUp } from './runtime-pod.ts'
import { createStartContainer } from './start-container.ts'
import { createSyncPod } from './sync-pod.ts'
import { createSyncTerminatedPod } from './sync-terminated-pod.ts'
import { createSyncTerminatingPod } from './sync-terminating-pod.ts'
import { createTerminationMessages } from './termination-message.ts'

export interface PodLifecycleOptions {
  client: Client
  clock: Clock
  events: EventRecorder
  metrics: KubeletMetrics
  runtime: ContainerRuntime
  actions: ActionHandler
  machine: MachineFacts
  nodeName: string
  nodeIP: string
  /** Where containers find the API server; by default at the address of its service. */
  apiServer?: URL
  rootDir: string
  /** Volumes, and files for last words, are made. */
  podFiles: boolean
  /** Of what comes close upon each other only the last is told, and no end is recorded. Off by default. */
  brief?: boolean
  terminationReasons: boolean
  /** A probe's own grace period counts. */
  probeGracePeriods: boolean
  /** The feature gate PodReadyToStartContainersCondition. */
  readyToStartConditions: boolean
  /** The feature gate ContainerStopSignals. */
  stopSignals: boolean
  /** A DELETE that leaves less time also shortens a kill that has begun. */
  shortenRunningKills: boolean
  random?(): number
  /** Why no pod can start that needs an address of its own. */
  networkProblem(): string | undefined
  /** The newest object known of a pod. */
  latest(pod: Pod): Pod | undefined
  /** Keeps what a running pod asks for now, if the node has it. */
  makeRoom(pod: Pod): Shortage | undefined
  /** 10 s, doubled to 300 s, unless said otherwise. */
  crashLoopBackOff?: RestartBackoffOptions
  /** Nothing of the pod is left on the node. */
  onOver(podUid: string): void
  info(fields: object, message: string): void
  warn(error: unknown, what: string, pod?: Pod): void
  /** A pod that validation should have refused. */
  malformed(what: string, pod: Pod): void
}
/** All that makes a pod object into processes and a status, put together. */
export interface PodLifecycle {
  workers: PodWorkers
  statuses: StatusManager
  /** Resolves when all is known that starting a container needs. */
  synced(): Promise<void>
  /** Ends what runs on this node of pods that are not among `known`; the API has forgotten them. */
  endOrphans(known: Set<string>): Promise<void>
  /** Where a volume of a pod is on this machine. */
  volumePath: VolumeManager['path']
  /** Whether something of the pod ran when this kubelet began. */
  ranBefore(podUid: string): boolean
  /** Resolves when all that is to be said of pods so far, their statuses and the records of their ends, is written. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** How long a program is left to set its signal handlers: a real runtime takes this long for its own part. */
const HANDLERS_MS = 30
/** For the last records, when the kubelet stops. */
const FLUSH_MS = 2_000
/** After this time a container that waits for the services to be known is told why it cannot start. */
const SERVICES_MS = 10_000

export async function createPodLifecycle(options: PodLifecycleOptions): Promise<PodLifecycle> {
  const { client, clock, events, metrics, runtime, actions, machine, nodeIP, rootDir, podFiles, warn } = options
  const cache = createRuntimeCache(runtime, createTerminationMessages())
  const reasons = createReasonCache()
  const sources = createEnvironmentSources({
    client,
    clock,
    nodeIP,
    apiServer: options.apiServer,
    machine,
    onError: (error) => warn(error, 'services could not be watched'),
  })
  // A kubelet that has just started knows its pods sooner than the services that their containers are told of.
  let servicesKnown: Promise<unknown> | undefined = sources.synced().then(
    () => {
      servicesKnown = undefined
    },
    () => {},
  )
  const environment: Parameters<typeof createStartContainer>[0]['environment'] = (pod, container, podIP) => {
    const read = () => containerEnvironment(pod, container, podIP, sources)
    return servicesKnown ? withinLimit(servicesKnown, SERVICES_MS, clock.machine).then(read) : read()
  }

  // The workers and what they call know each other; the names are bound before anything runs.
  let workers: PodWorkers
  const manager: StatusManager = createStatusManager({
    client,
    clock,
    latest: options.latest,
    mayHaveRunningContainers: (uid) => workers.mayHaveRunningContainers(uid),
    isFinished: (uid) => workers.isFinished(uid),
    onError: (error, pod) => warn(error, 'a status could not be written', pod),
    brief: options.brief,
  })
  const prober = createProber({
    runtime,
    clock,
    events,
    actions,
    metrics: metrics.probes,
    random: options.random,
    status: (uid) => manager.get(uid),
    isEnding: (uid) => workers.isTerminating(uid),
    onChange(pod, type) {
      if (type !== 'liveness') statuses.probesChanged(pod)
      workers.sync(pod.metadata.uid ?? '')
    },
  })
  const resizes = new PodResizes({
    events,
    makeRoom: options.makeRoom,
    told: (pod) => manager.get(pod.metadata.uid ?? '') ?? pod.status,
  })
  const statuses = createPodStatuses({
    clock,
    events,
    manager,
    reasons,
    probes: prober.results,
    resizes: (pod) => resizes.view(pod),
    onTold: prober.statusTold,
    hostIP: nodeIP,
    readyToStartConditions: options.readyToStartConditions,
    stopSignals: options.stopSignals,
  })
  const volumes = createVolumeManager({
    clock,
    events,
    sources: createVolumeSources({
      client,
      environment: sources,
      podIP: (pod) => pod.status?.podIP ?? '',
      tokens: podFiles,
    }),
    podDir: (podUid) => podDir(rootDir, podUid),
    podFiles,
    memoryFolders: runtime.memoryFolders,
  })
  const canMount = runtime.capabilities().files !== 'host'
  const hooks = createHookRunner(runtime, actions)
  const terminations = options.brief
    ? noTerminations
    : new ApiTerminationRecorder({
        client,
        clock,
        nodeName: options.nodeName,
        onRecord: (facts) => metrics.terminated(facts),
        containers: async (uid) => (await cache.pod(uid)).containers,
        onError: (error, pod) => warn(error, 'the record of a termination was lost', pod),
        onMissing: ({ message }, againInMs) =>
          options.info(
            { answer: message, retryAfter: goDuration(againInMs) },
            'the API server does not take terminations.kubestage.dev: how pods end is not recorded',
          ),
      })
  const graces = createRunningGraces(clock)
  const killer = new ContainerKiller({
    runtime,
    clock,
    events,
    hooks,
    terminations,
    graces,
    probeGracePeriods: options.probeGracePeriods,
    onProbeKill: (type, ownGrace) => metrics.probeKilled(type, ownGrace),
    handlersMs: podFiles ? HANDLERS_MS : 0,
    warn: (message, pod) => warn(undefined, message, pod),
    error: options.malformed,
  })
  const portConflicts = podFiles ? new PortConflicts({ runtime, events }) : undefined
  const backoff = createRestartBackoff(options.crashLoopBackOff)
  const killPod = createKillPod(runtime, clock, killer)
  const images = createImagePuller({ runtime, clock, events })
  const startContainer = createStartContainer({
    runtime,
    clock,
    events,
    hooks,
    backoff,
    ensureImage: images.ensure,
    killer,
    environment,
    nextAttempt: (pod, name) => nextRestartCount(manager.get(pod.metadata.uid ?? ''), name),
    mounts(pod, container, { env, podIP }) {
      if (!podFiles) return []
      const volumeMounts = containerMounts(pod, container, { env, volumePath: volumes.path })
      if (!canMount) return volumeMounts
      const written = [hostsMount(pod, container, podIP, rootDir), resolverMount(pod, container, rootDir)]
      return [...written.filter((mount) => mount !== undefined), ...volumeMounts]
    },
    onStarted: (type) => metrics.containerStarted(type),
    messageFile: (pod, name) => (podFiles ? newMessageFile(rootDir, pod, name) : ''),
    rootDir,
    stopSignals: options.stopSignals,
  })
  /** Pods whose folders this kubelet has seen to. */
  const folders = new Set<string>()
  const removeProbes = (pod: Pod) => prober.remove(pod.metadata.uid ?? '')

  workers = createPodWorkers({
    clock,
    random: options.random,
    onWorked: (operation, seconds) => metrics.worked(operation, seconds),
    syncPod: createSyncPod({
      random: options.random,
      runtime,
      cache,
      clock,
      events,
      statuses,
      reasons,
      verdicts: prober.verdicts,
      killPod,
      killer,
      startContainer,
      resizes,
      portConflicts,
      networkProblem: options.networkProblem,
      restartAll: createRestartAll({ runtime, killer }),
      mountVolumes(pod, signal) {
        const uid = pod.metadata.uid ?? ''
        if (podFiles && !folders.has(uid)) {
          mkdirSync(podDir(rootDir, uid), { recursive: true })
          folders.add(uid)
        }
        return volumes.mount(pod, signal)
      },
      addProbes: prober.add,
      onSandbox: () => metrics.sandboxStarted(),
    }),
    syncTerminatingPod: createSyncTerminatingPod({
      cache,
      statuses,
      killPod,
      terminationReasons: options.terminationReasons,
      stopKillingProbes: prober.stopKilling,
      removeProbes,
    }),
    syncTerminatedPod: createSyncTerminatedPod({ cache, statuses, removeProbes }),
    onFinished(pod, removed) {
      const uid = pod.metadata.uid ?? ''
      options.onOver(uid)
      terminations.podEnded(uid, manager.get(uid))
      if (removed) void forget(pod).catch((error) => warn(error, 'a pod could not be cleaned up', pod))
      else manager.terminate(pod)
    },
    ...(options.shortenRunningKills && {
      onGraceShortened: ({ metadata }: Pod, seconds: number) => graces.shorten(metadata.uid ?? '', seconds),
    }),
    onError: (error, pod) => warn(error, 'a pod could not be synced', pod),
  })

  const cleanup = createPodCleanup({
    runtime,
    cache,
    events,
    rootDir,
    podFiles,
    onError: (error, pod) => warn(error, 'what was left of a pod could not be removed', pod),
  })
  async function forget(pod: Pod): Promise<void> {
    const uid = pod.metadata.uid ?? ''
    manager.forget(uid)
    reasons.forget(uid)
    resizes.forget(uid)
    portConflicts?.forget(uid)
    volumes.forget(uid)
    folders.delete(uid)
    backoff.forget(`${uid}_`)
    images.forget(uid)
    await cleanup.remove(pod)
  }

  const found = await cache.pods()
  const stopListening = runtime.onEvent(({ podUid }) => workers.sync(podUid))
  runtime.onImagesChanged?.(() => {
    images.retryAll()
    workers.syncAll()
  })
  return {
    workers,
    statuses: manager,
    synced: sources.synced,
    volumePath: volumes.path,
    endOrphans: (known) => cleanup.endOrphans(found, known),
    ranBefore: (podUid) => isUp(found.get(podUid)),
    async flush() {
      // The record of a pod follows the cleanup after its containers.
      await workers.settled()
      await Promise.all([manager.flush(), terminations.flush()])
    },
    async close() {
      stopListening()
      prober.close()
      workers.close()
      await withinLimit(terminations.flush(), FLUSH_MS, clock.machine)
      await sources.close()
    },
  }
}
