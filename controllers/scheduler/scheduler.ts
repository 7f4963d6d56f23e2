import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Binding, Namespace, PodDisruptionBudget } from '../../shared/api/types.ts'
import type { PersistentVolumeClaim } from '../../shared/api/volumes.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { persistentVolumeClaims, podDisruptionBudgets, pods as podsResource } from '../../shared/client/resources.ts'
import type { Timer } from '../../shared/clock/clock.ts'
import { type TellFailure, tellFailures } from '../../shared/concurrency/loop-failures.ts'
import { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { setPodStatus } from '../pods/pod-conditions.ts'
import { Budgets } from './budgets.ts'
import { claimsProblem, isBound } from './claims.ts'
import { ClusterView } from './cluster-view.ts'
import { type Decision, decide, type Refusal } from './decide.ts'
import { DefaultSelectors } from './default-selector.ts'
import { podInfo } from './node-info.ts'
import { NodeSearch } from './node-search.ts'
import { Preemptor } from './preemptor.ts'
import { SchedulingQueue } from './scheduling-queue.ts'

const NAME = 'default-scheduler'
/** Upstream looks at pods that fit nowhere again after this, whatever happened or did not. */
const FLUSH_MS = 5 * 60_000
const BINDINGS_AT_ONCE = 16
/** Passes until a failed write is tried again. */
const RETRY_MS = 1_000

/**
 * Gives each pending pod a node: by the filters, then the scores; and says why when none will do.
 * Less important pods make room for a pod that fits nowhere else.
 */
export function startScheduler(context: ControllerContext): Controller {
  return new Scheduler(context)
}

class Scheduler implements Controller {
  readonly #context: ControllerContext
  readonly #failed: TellFailure<string>
  readonly #recorder: EventRecorder
  readonly #preemptor: Preemptor
  readonly #cluster = new ClusterView()
  readonly #pending = new SchedulingQueue()
  readonly #search = new NodeSearch()
  readonly #claims: Informer<PersistentVolumeClaim>
  readonly #budgets: Informer<PodDisruptionBudget>
  readonly #namespaces: Informer<Namespace>
  readonly #selectors: DefaultSelectors
  /** Each entry is one attempt; with which pod, the queue decides when its turn comes. */
  readonly #attempts: WorkQueue<number>
  readonly #stopping = new AbortController()
  #attemptNumber = 0
  #retrying: Timer | undefined

  constructor(context: ControllerContext) {
    const { client, informers, clock, log } = context
    this.#context = context
    this.#failed = tellFailures({ clock, log, loop: NAME, object: (name: string) => name })
    this.#recorder = createEventRecorder({ client, clock, log, component: NAME })
    this.#preemptor = new Preemptor(context, this.#recorder)
    this.#claims = informers.whole(persistentVolumeClaims)
    this.#namespaces = informers.namespaces()
    this.#budgets = informers.whole(podDisruptionBudgets)
    this.#selectors = new DefaultSelectors(informers)
    this.#attempts = new WorkQueue<number>({
      clock,
      concurrency: BINDINGS_AT_ONCE,
      work: () => this.#attempt(),
      onError: (error) => this.#failed(error, 'Pods'),
    })
    this.#follow()
    void this.#flush()
  }

  #follow(): void {
    const { informers } = this.#context
    const claimSeen = (claim: PersistentVolumeClaim, old?: PersistentVolumeClaim): void => {
      if (isBound(claim) && !(old && isBound(old))) this.#retryAll()
    }
    const nodeSeen = (node: TrimmedNode, old?: TrimmedNode): void => this.#observeNode(node, old)
    const podSeen = (pod: TrimmedPod, old?: TrimmedPod): void => this.#observePod(pod, old)
    this.#claims.addHandler({ onAdd: (claim) => claimSeen(claim), onUpdate: claimSeen })
    informers.nodes().addHandler({
      onAdd: (node) => nodeSeen(node),
      onUpdate: nodeSeen,
      onDelete: ({ metadata: { name = '' } }) => this.#forgetNode(name),
    })
    // Pods before the nodes are known would be told that there is none.
    void Promise.all([informers.nodes().synced(), this.#budgets.synced(), this.#selectors.synced()]).then(
      () =>
        informers.pods().addHandler({
          onAdd: (pod) => podSeen(pod),
          onUpdate: podSeen,
          onDelete: (pod) => this.#forgetPod(pod),
        }),
      () => {},
    )
  }

  async #attempt(): Promise<void> {
    const taken = this.#pending.take()
    if (!taken) return
    const { pod, lastVerdict, park } = taken
    const decision = this.#decide(pod)
    if ('nodeName' in decision) {
      if ((await this.#bind(pod, decision.nodeName)) || !park('the binding failed')) return
    } else {
      await this.#refuse(pod, decision, lastVerdict)
      if (!park(decision.message)) return
    }
    this.#tryOne()
  }

  #decide(pod: TrimmedPod): Decision {
    return decide(podInfo(pod), this.#cluster.nodes(), {
      random: Math.random,
      search: this.#search,
      nowMs: this.#context.clock.now(),
      problem: claimsProblem(pod, this.#claims),
      nominations: this.#cluster.nominations,
      budgets: () => new Budgets(this.#budgets.list()),
      defaultSelector: (pod) => this.#selectors.of(pod),
      namespaceLabels: (name = '') => this.#namespaces.get({ name })?.metadata.labels,
      isPreempted: (other) => this.#preemptor.isVictim(other),
    })
  }

  /** True when the pod is where it should be, or is no longer ours to place. */
  async #bind(pod: TrimmedPod, nodeName: string): Promise<boolean> {
    this.#cluster.place(pod, nodeName)
    try {
      await this.#postBinding(pod, nodeName)
      this.#podsHaveChanged()
      return true
    } catch (error) {
      this.#cluster.unplace(pod.metadata.uid ?? '')
      // Deleted or bound by another client meanwhile: the watch will say, or has said.
      if (isStatus(error, 'NotFound') || isStatus(error, 'Conflict')) return true
      this.#failed(error, `Pod ${pod.metadata.namespace}/${pod.metadata.name}`)
      this.#retryLater()
      return false
    }
  }

  async #postBinding(pod: TrimmedPod, nodeName: string): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata
    await this.#context.client.create<Binding>(
      podsResource,
      {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { namespace, name, uid },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      },
      { namespace, name, subresource: 'binding' },
    )
    this.#recorder.record({
      kind: 'Pod',
      regarding: pod,
      type: 'Normal',
      reason: 'Scheduled',
      action: 'Binding',
      message: `Successfully assigned ${namespace}/${name} to ${nodeName}`,
    })
  }

  /** Says why the pod has no node, and makes room for it where that was decided. */
  async #refuse(pod: TrimmedPod, refusal: Refusal, lastVerdict: string | undefined): Promise<void> {
    const { message, nominated, preemption } = refusal
    const { nominations } = this.#cluster
    const yielding = preemption ? nominations.below(pod, preemption.nodeName) : []
    for (const { pod } of yielding) nominations.remove(pod.metadata.uid ?? '')
    // At once: other pods are decided on before the API has it.
    const earlier = [nominations.nodeOf(pod) ?? '', pod.status?.nominatedNodeName ?? '']
    if (nominated !== undefined) nominations.set(pod, nominated)
    const isNew = nominated !== undefined && earlier.some((name) => name !== nominated)
    try {
      await Promise.all([
        // Said once, though the pod as it is known here may not show it yet.
        (message !== lastVerdict || isNew) && this.#reject(pod, message, isNew ? nominated : undefined),
        preemption && this.#preemptor.preempt(pod, preemption, yielding),
      ])
    } catch (error) {
      this.#failed(error, `Pod ${pod.metadata.namespace}/${pod.metadata.name}`)
      this.#retryLater()
    }
  }

  async #reject(pod: TrimmedPod, message: string, nominatedNodeName: string | undefined): Promise<void> {
    const old = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
    if (old?.status === 'False' && old.message === message && nominatedNodeName === undefined) return
    this.#recorder.record({
      kind: 'Pod',
      regarding: pod,
      type: 'Warning',
      reason: 'FailedScheduling',
      action: 'Scheduling',
      message,
    })
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
    await setPodStatus(this.#context.client, pod, { condition, nominatedNodeName }, this.#context.clock.now())
  }

  #observePod(pod: TrimmedPod, old?: TrimmedPod): void {
    const { uid = '' } = pod.metadata
    if (hasEnded(pod)) {
      this.#leaveQueue(uid)
      this.#freed(uid)
    } else if (pod.spec.nodeName) {
      this.#leaveQueue(uid)
      const changed = this.#cluster.update(pod, pod.spec.nodeName)
      if (changed.amounts) this.#retryAll()
      else if (changed.labels) this.#podsHaveChanged()
    } else if (this.#cluster.isPlaced(uid)) {
      // The binding is under way, or was seen later than this version.
    } else if (isOurs(pod)) {
      this.#cluster.nominations.observe(pod, old)
      const isWithdrawn = old?.status?.nominatedNodeName && !pod.status?.nominatedNodeName
      const isActive = this.#pending.put(pod) || (isWithdrawn && this.#pending.activate(uid))
      if (isActive) this.#tryOne()
    } else {
      this.#leaveQueue(uid)
    }
  }

  #forgetPod({ metadata: { uid = '' } }: TrimmedPod): void {
    this.#leaveQueue(uid)
    this.#freed(uid)
  }

  /** Room that was kept for the pod is there for others. */
  #leaveQueue(uid: string): void {
    this.#pending.remove(uid)
    if (this.#cluster.nominations.remove(uid)) this.#retryAll()
  }

  #freed(uid: string): void {
    this.#preemptor.forget(uid)
    if (this.#cluster.unplace(uid)) this.#retryAll()
  }

  #observeNode(node: TrimmedNode, old?: TrimmedNode): void {
    this.#cluster.setNode(node)
    if (!old || schedulingView(node) !== schedulingView(old)) this.#retryAll()
  }

  #forgetNode(name: string): void {
    this.#cluster.forgetNode(name)
    this.#retryAll()
  }

  #tryOne(): void {
    this.#attemptNumber += 1
    this.#attempts.add(this.#attemptNumber)
  }

  #retryAll(): void {
    for (let woken = this.#pending.wake(); woken > 0; woken--) this.#tryOne()
  }

  /** A pod has a place, or other labels: that may let pods run that have rules about others. */
  #podsHaveChanged(): void {
    for (let woken = this.#pending.wakeThoseThatLookAtPods(); woken > 0; woken--) this.#tryOne()
  }

  #retryLater(): void {
    this.#retrying ??= this.#context.clock.setTimer(
      RETRY_MS,
      () => {
        this.#retrying = undefined
        this.#retryAll()
      },
      { background: true },
    )
  }

  async #flush(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#context.clock.sleep(FLUSH_MS, { signal }).catch(() => {})
      this.#retryAll()
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    this.#retrying?.cancel()
    await this.#attempts.close()
    await this.#recorder.close()
  }
}

const isOurs = ({ metadata, spec }: TrimmedPod): boolean =>
  !metadata.deletionTimestamp && (spec.schedulerName ?? NAME) === NAME && (spec.schedulingGates ?? []).length === 0

/** Returns what decides whether pods fit on a node, which heartbeats do not change. */
const schedulingView = ({ metadata, spec, status }: TrimmedNode): string =>
  JSON.stringify([
    metadata.labels,
    spec?.taints,
    spec?.unschedulable,
    status?.allocatable,
    status?.conditions?.find(({ type }) => type === 'Ready')?.status,
  ])
