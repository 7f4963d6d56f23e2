import { mkdirSync } from 'node:fs'
import type { Pod } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { ActionHandler } from './actions/action.ts'
import { createEventRecorder } from './events/event-recorder.ts'
import { createHookRunner } from './lifecycle/hook-runner.ts'
import { createKillContainer } from './lifecycle/kill-container.ts'
import { withinLimit } from './lifecycle/termination-order.ts'
import { startLease } from './node/lease.ts'
import { machineFacts } from './node/machine.ts'
import { nodeReference, startNodeRegistration } from './node/node-registration.ts'
import { podDir } from './pods/container-config.ts'
import { containerEnvironment } from './pods/environment.ts'
import { createEnvironmentSources } from './pods/environment-sources.ts'
import { createImagePuller } from './pods/image-puller.ts'
import { createPodCleanup } from './pods/pod-cleanup.ts'
import { createKillPod } from './pods/pod-killer.ts'
import { startPodSource } from './pods/pod-source.ts'
import { createPodWorkers, type PodWorkers } from './pods/pod-workers.ts'
import { createReasonCache } from './pods/reason-cache.ts'
import { createRestartBackoff } from './pods/restart-backoff.ts'
import { createRuntimeCache } from './pods/runtime-cache.ts'
import { type RuntimePod, readySandbox, runningContainers } from './pods/runtime-pod.ts'
import { createStartContainer } from './pods/start-container.ts'
import { createSyncPod } from './pods/sync-pod.ts'
import { createSyncTerminatedPod } from './pods/sync-terminated-pod.ts'
import { createSyncTerminatingPod } from './pods/sync-terminating-pod.ts'
import { createTerminationMessages } from './pods/termination-message.ts'
import { createProber } from './prober/prober.ts'
import type { ContainerRuntime } from './runtime/container-runtime.ts'
import { createPodStatuses } from './status/pod-statuses.ts'
import { createStatusManager, type StatusManager } from './status/status-manager.ts'
import { createVolumeManager } from './volumes/volume-manager.ts'
import { createVolumeSources } from './volumes/volume-sources.ts'

export interface KubeletOptions {
  client: Client
  clock: Clock
  log: KubeletLog
  runtime: ContainerRuntime
  actions: ActionHandler
  nodeName: string
  nodeIP: string
  /** Where the kubelet's own HTTPS API listens; told in the node's status. */
  port: number
  /** Own files: pods, logs. */
  rootDir: string
  nodeLabels?: Record<string, string>
  /** Tell preStop hooks why; on by default. */
  terminationReasons?: boolean
}
export interface KubeletLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
export interface Kubelet {
  /** Resolves when the node is registered and the first pods are known. */
  ready: Promise<void>
  pods(): Iterable<Pod>
  /** Ends all pods with their grace, but at most so many seconds, and tells why. */
  shutdown(graceSeconds: number): Promise<void>
  /** Stops looking after the node; what runs goes on and is found again by the next kubelet. */
  close(): Promise<void>
}

/** For the last statuses, when the kubelet stops. */
const FLUSH_MS = 2_000

/** Puts the parts together: the API's pods in, processes and statuses out. */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  const { client, clock, log, runtime, actions, nodeName, nodeIP, rootDir } = options
  const warn = (error: unknown, what: string, pod?: Pod) =>
    log.warn({ err: error, ...(pod && { pod: `${pod.metadata.namespace}/${pod.metadata.name}` }) }, what)
  mkdirSync(rootDir, { recursive: true })
  const machine = await machineFacts(rootDir)

  const events = createEventRecorder({
    client,
    clock,
    component: 'kubelet',
    host: nodeName,
    onError: (error) => warn(error, 'an event was lost'),
  })
  const cache = createRuntimeCache(runtime, createTerminationMessages())
  const reasons = createReasonCache()
  const sources = createEnvironmentSources({
    client,
    clock,
    nodeIP,
    machine,
    onError: (error) => warn(error, 'services'),
  })
  const environment: Parameters<typeof createStartContainer>[0]['environment'] = (pod, container, podIP) =>
    containerEnvironment(pod, container, podIP, sources)

  // The workers and what they call know each other; the names are bound before anything runs.
  let workers: PodWorkers
  const manager: StatusManager = createStatusManager({
    client,
    clock,
    latest: ({ metadata }) => source.get({ namespace: metadata.namespace, name: metadata.name ?? '' }),
    mayHaveRunningContainers: (uid) => workers.mayHaveRunningContainers(uid),
    isFinished: (uid) => workers.isFinished(uid),
    onError: (error, pod) => warn(error, 'a status could not be written', pod),
  })
  const prober = createProber({
    runtime,
    clock,
    events,
    actions,
    status: (uid) => manager.get(uid),
    isEnding: (uid) => workers.isTerminating(uid),
    onChange(pod, type) {
      if (type !== 'liveness') statuses.probesChanged(pod)
      workers.sync(pod.metadata.uid ?? '')
    },
  })
  const statuses = createPodStatuses({
    clock,
    events,
    manager,
    reasons,
    probes: prober.results,
    onTold: prober.statusTold,
    hostIP: nodeIP,
  })
  const volumes = createVolumeManager({
    clock,
    events,
    sources: createVolumeSources({ client, environment: sources, podIP: (pod) => pod.status?.podIP ?? '' }),
    podDir: (podUid) => podDir(rootDir, podUid),
  })
  const hooks = createHookRunner({ runtime, actions, events })
  const killContainer = createKillContainer({
    runtime,
    clock,
    events,
    hooks,
    environment,
    warn: (message, pod) => warn(undefined, message, pod),
  })
  const killPod = createKillPod(runtime, clock, killContainer)
  const ensureImage = createImagePuller({ runtime, clock, events, backoff: createRestartBackoff() })
  const backoff = createRestartBackoff()
  const startContainer = createStartContainer({
    runtime,
    clock,
    events,
    hooks,
    backoff,
    ensureImage,
    killContainer,
    environment,
    rootDir,
  })
  const removeProbes = (pod: Pod) => prober.remove(pod.metadata.uid ?? '')

  workers = createPodWorkers({
    clock,
    syncPod: createSyncPod({
      runtime,
      cache,
      clock,
      events,
      statuses,
      reasons,
      verdicts: prober.verdicts,
      killPod,
      killContainer,
      startContainer,
      mountVolumes(pod, signal) {
        mkdirSync(podDir(rootDir, pod.metadata.uid ?? ''), { recursive: true })
        return volumes.mount(pod, signal)
      },
      addProbes: prober.add,
    }),
    syncTerminatingPod: createSyncTerminatingPod({
      cache,
      statuses,
      killPod,
      terminationReasons: options.terminationReasons ?? true,
      stopKillingProbes: prober.stopKilling,
      removeProbes,
    }),
    syncTerminatedPod: createSyncTerminatedPod({ cache, statuses, removeProbes, unmountVolumes: async () => {} }),
    onFinished(pod, removed) {
      if (removed) void forget(pod).catch((error) => warn(error, 'a pod could not be cleaned up', pod))
      else manager.terminate(pod)
    },
    onError: (error, pod) => warn(error, 'a pod could not be synced', pod),
  })

  const cleanup = createPodCleanup(runtime, cache, rootDir)
  async function forget(pod: Pod): Promise<void> {
    const uid = pod.metadata.uid ?? ''
    manager.forget(uid)
    reasons.forget(uid)
    volumes.forget(uid)
    backoff.forget(`${uid}_`)
    await cleanup.remove(pod)
  }

  const found = await cache.pods()
  const stopListening = runtime.onEvent(({ podUid }) => workers.sync(podUid))
  const node = startNodeRegistration({
    client,
    clock,
    events,
    facts: () => ({
      name: nodeName,
      nodeIP,
      port: options.port,
      machine,
      runtimeVersion: runtime.version,
      pressure: { memory: false, disk: false, pid: false },
      problems: [],
      labels: options.nodeLabels,
    }),
    onError: (error) => warn(error, 'the node could not be registered or updated'),
  })
  events.event(nodeReference(nodeName), 'Normal', 'Starting', 'Starting kubelet.')
  const source = startPodSource({
    client,
    clock,
    nodeName,
    onError: (error) => warn(error, 'pods could not be watched'),
    handler: {
      onAdd: (pod) => workers.update(pod, { running: runs(found.get(pod.metadata.uid ?? '')) }),
      onUpdate: (pod) => workers.update(pod),
      onReconcile(pod) {
        manager.reconcile(pod)
        if (pod.spec.readinessGates) workers.sync(pod.metadata.uid ?? '')
      },
      onRemove: (pod) => workers.remove(pod),
    },
  })

  const stopLease = startLease({
    client,
    clock,
    nodeName,
    onError: (error) => warn(error, 'the lease could not be renewed'),
  })
  const ready = Promise.all([node.registered, source.synced(), sources.synced()]).then(() =>
    cleanup.endOrphans(found, new Set([...source.list()].map(({ metadata }) => metadata.uid ?? ''))),
  )
  ready.catch((error) => warn(error, 'the kubelet did not get ready'))

  return {
    ready,
    pods: () => source.list(),
    async shutdown(graceSeconds) {
      const message = 'Pod was terminated in response to imminent node shutdown.'
      await Promise.all(
        [...source.list()].map((pod) =>
          workers.kill(pod, {
            graceSeconds,
            cause: 'Eviction',
            status: (status) => ({ ...status, phase: 'Failed', reason: 'Terminated', message }),
          }),
        ),
      )
      await manager.flush()
    },
    async close() {
      stopListening()
      stopLease()
      node.close()
      prober.close()
      workers.close()
      await Promise.all([source.close(), sources.close()])
      await withinLimit(manager.flush(), FLUSH_MS, clock)
    },
  }
}

const runs = (found: RuntimePod | undefined): boolean =>
  found !== undefined && (readySandbox(found) !== undefined || runningContainers(found).length > 0)
