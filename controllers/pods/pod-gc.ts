import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import { ignoreNotFound, ignoring } from '../../shared/api/status/status-error.ts'
import { nodes as nodesResource, pods as podsResource } from '../../shared/client/resources.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { setPodStatus } from './pod-conditions.ts'
import { UnseenEnds } from './unseen-ends.ts'
import { whenChanged } from './when-changed.ts'

const PERIOD_MS = 20_000
/** A node must be missing for so long before its pods are given up. */
const QUARANTINE_MS = 40_000
const MAX_TERMINATED = 12_500
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'
const ORPHANED = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'DeletionByPodGC',
  message: 'PodGC: node no longer exists',
}

/** Removes the pods that no kubelet will ever finish, and the oldest of too many that are over. Records unseen ends. */
export function startPodGarbageCollector(context: ControllerContext): Controller {
  const { client, informers, clock, log } = context
  const pods = informers.pods()
  const nodes = informers.nodes()
  const unseen = new UnseenEnds(context)
  const missingSince = new Map<string, number>()
  // A node that is missing is given up by the time.
  const sweep = whenChanged([pods, nodes], sweepAll, () => missingSince.size > 0)

  async function sweepAll(): Promise<void> {
    const all = [...pods.list()]
    for (const pod of tooManyTerminated(all, MAX_TERMINATED)) await remove(pod)
    for (const pod of all.filter(isTerminatingWithoutNode)) await fail(pod)
    for (const pod of all.filter(isOutOfService)) await fail(pod)
    const gone = await goneNodes(all)
    for (const pod of all) if (gone.has(pod.spec.nodeName ?? '')) await fail(pod, ORPHANED)
  }

  /** Being deleted on a node with the taint `out-of-service`. */
  function isOutOfService({ metadata, spec }: TrimmedPod): boolean {
    const node = metadata.deletionTimestamp === undefined ? undefined : nodes.get({ name: spec.nodeName ?? '' })
    const isReady = node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
    return !isReady && (node?.spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE)
  }

  async function goneNodes(all: readonly TrimmedPod[]): Promise<Set<string>> {
    const used = new Set(all.flatMap(({ spec }) => spec.nodeName ?? []))
    for (const name of missingSince.keys()) {
      if (!used.has(name) || nodes.get({ name })) missingSince.delete(name)
    }
    const gone = new Set<string>()
    for (const name of used) {
      if (nodes.get({ name })) continue
      const since = missingSince.get(name) ?? clock.monotonic()
      missingSince.set(name, since)
      if (clock.monotonic() - since >= QUARANTINE_MS && !(await exists(name))) gone.add(name)
    }
    return gone
  }

  async function exists(name: string): Promise<boolean> {
    return (await client.get(nodesResource, { name }).catch(ignoreNotFound)) !== undefined
  }

  async function fail(pod: TrimmedPod, condition?: typeof ORPHANED): Promise<void> {
    if (!hasEnded(pod)) {
      await setPodStatus(client, pod, { condition, phase: 'Failed' }, clock.now())
      if (pod.spec.nodeName) unseen.failed(pod)
    }
    await remove(pod)
  }

  async function remove({ metadata: { namespace, name = '', uid } }: TrimmedPod): Promise<void> {
    await client
      .delete(podsResource, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  const queue = createLoopQueue<'sweep'>(
    { clock, log, loop: 'pod-garbage-collector-controller', object: () => 'Pods' },
    async () => {
      await sweep()
      queue.addAfter('sweep', PERIOD_MS)
    },
  )
  queue.addAfter('sweep', PERIOD_MS)
  return { close: () => queue.close().then(() => unseen.close()) }
}

const isTerminatingWithoutNode = ({ metadata, spec }: TrimmedPod): boolean =>
  metadata.deletionTimestamp !== undefined && !spec.nodeName

/** Returns the ended pods beyond the limit `max`: evicted ones first, then the oldest. */
export function tooManyTerminated(pods: readonly TrimmedPod[], max: number): TrimmedPod[] {
  const terminated = pods.filter(hasEnded)
  const rank = ({ metadata, status }: TrimmedPod): string =>
    `${status?.phase === 'Failed' && status.reason === 'Evicted' ? 0 : 1} ${metadata.creationTimestamp}`
  terminated.sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
  return terminated.slice(0, Math.max(0, terminated.length - max))
}
