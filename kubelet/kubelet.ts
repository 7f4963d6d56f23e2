import { mkdirSync } from 'node:fs'
import type { Pod } from '../shared/api/types.ts'
import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { withinLimit } from '../shared/clock/within-limit.ts'
import type { ActionHandler } from './actions/action.ts'
import { createEventRecorder } from './events/event-recorder.ts'
import { startLease } from './node/lease.ts'
import { machineFacts } from './node/machine.ts'
import { nodeReference, startNodeRegistration } from './node/node-registration.ts'
import { createPodLifecycle } from './pods/pod-lifecycle.ts'
import { startPodSource } from './pods/pod-source.ts'
import type { ContainerRuntime } from './runtime/container-runtime.ts'

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
  /** From 0 to 1: spreads what would otherwise happen everywhere at once. */
  random?(): number
}
export interface KubeletLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
export interface Kubelet {
  /** Resolves when the node is registered and the first pods are known. */
  ready: Promise<void>
  /** With our own newest status of each, which may be ahead of the API's. */
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
  const { client, clock, log, runtime, nodeName, nodeIP, rootDir } = options
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
  const { workers, statuses, ...lifecycle } = await createPodLifecycle({
    ...options,
    events,
    machine,
    terminationReasons: options.terminationReasons ?? true,
    latest: ({ metadata }) => source.get({ namespace: metadata.namespace, name: metadata.name ?? '' }),
    warn,
  })
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
      onAdd: (pod) => workers.update(pod, { running: lifecycle.ranBefore(pod.metadata.uid ?? '') }),
      onUpdate: (pod) => workers.update(pod),
      onReconcile(pod) {
        workers.observe(pod)
        statuses.reconcile(pod)
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
  const ready = Promise.all([node.registered, source.synced(), lifecycle.synced()]).then(() =>
    lifecycle.endOrphans(new Set([...source.list()].map(({ metadata }) => metadata.uid ?? ''))),
  )
  ready.catch((error) => warn(error, 'the kubelet did not get ready'))

  return {
    ready,
    *pods() {
      for (const pod of source.list()) yield { ...pod, status: statuses.get(pod.metadata.uid ?? '') ?? pod.status }
    },
    async shutdown(graceSeconds) {
      const message = 'Pod was terminated in response to imminent node shutdown.'
      await Promise.all(
        [...source.list()].map((pod) =>
          workers.kill(pod, {
            graceSeconds: Math.min(graceSeconds, pod.spec.terminationGracePeriodSeconds ?? graceSeconds),
            cause: 'Eviction',
            status: (status) => ({ ...status, phase: 'Failed', reason: 'Terminated', message }),
          }),
        ),
      )
      await statuses.flush()
    },
    async close() {
      stopLease()
      node.close()
      await Promise.all([source.close(), lifecycle.close()])
      await withinLimit(statuses.flush(), FLUSH_MS, clock.machine)
    },
  }
}
