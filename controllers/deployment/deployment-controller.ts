import { isDeepStrictEqual } from 'node:util'
import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import { fromSelectorObject, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import { ignoreNotFound, isStatus } from '../../shared/api/status/status-error.ts'
import type { Deployment, ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { everyState, type Informer } from '../../shared/client/informer.ts'
import { deployments as deploymentsResource, replicaSets } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import { controllerOf } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { claim } from '../workloads/claims.ts'
import {
  type DeploymentStatus,
  deploymentStatus,
  isComplete,
  pauseCondition,
  rolloutStatus,
  stuckInMs,
  withDeploymentCondition,
} from './deployment-status.ts'
import { kind, ReplicaSetControl, type Rollout } from './replica-set-control.ts'
import { DESIRED_REPLICAS } from './revisions.ts'
import { beyondHistory, isActiveSet, newSetSize, scaleSteps, shrinkOldSets, sizeOf } from './sizes.ts'

/** Replaces the pods of deployments, set by set. Upstream: pkg/controller/deployment/deployment_controller.go. */
class DeploymentController implements Controller {
  readonly #client: Client
  readonly #clock: Clock
  readonly #recorder: EventRecorder
  readonly #control: ReplicaSetControl
  readonly #deployments: Informer<Deployment>
  readonly #sets: Informer<ReplicaSet>
  readonly #pods: Informer<TrimmedPod>
  readonly #queue: WorkQueue<string>

  constructor(context: ControllerContext) {
    const { client, informers, clock, log } = context
    this.#client = client
    this.#clock = clock
    this.#recorder = createEventRecorder({ client, clock, log, component: 'deployment-controller' })
    this.#control = new ReplicaSetControl({ client, recorder: this.#recorder, clock })
    this.#deployments = informers.whole<Deployment>(deploymentsResource)
    this.#sets = informers.whole<ReplicaSet>(replicaSets)
    this.#pods = informers.pods()
    this.#queue = createLoopQueue(
      { clock, log, loop: 'deployment-controller', object: 'Deployment', concurrency: 5 },
      (key) => this.#sync(key),
    )
    this.#deployments.addHandler(everyState((deployment) => this.#consider(deployment)))
    this.#sets.addHandler({
      onAdd: (set) => this.#considerSet(set),
      onUpdate: (set, old) => {
        if (controllerOf(old.metadata)?.uid !== controllerOf(set.metadata)?.uid) this.#considerSet(old)
        this.#considerSet(set)
      },
      onDelete: (set) => this.#considerSet(set),
    })
    // Recreate waits until the last old pod is gone.
    this.#pods.addHandler({
      onDelete: ({ metadata }) => {
        const reference = controllerOf(metadata)
        if (reference?.kind !== 'ReplicaSet') return
        const set = this.#sets.get({ namespace: metadata.namespace, name: reference.name })
        const owner = set && this.#ownerOf(set)
        if (owner?.spec.strategy?.type === 'Recreate') this.#consider(owner)
      },
    })
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#recorder.close()
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const deployment = this.#deployments.get({ namespace, name })
    const selector = fromSelectorObject(deployment?.spec.selector)
    if (!deployment || !selector) return
    try {
      const options = {
        client: this.#client,
        resource: replicaSets,
        informer: this.#sets,
        kind: { ...kind, resource: deploymentsResource },
      }
      await this.#rollOut(key, await claim(deployment, selector, options), deployment)
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
    }
  }

  async #rollOut(key: string, owned: ReplicaSet[], known: Deployment): Promise<void> {
    if (known.metadata.deletionTimestamp) {
      return this.#reportCounts(await this.#control.split(known, owned, { create: false }))
    }
    const deployment = await this.#sayWhetherPaused(known)
    if (deployment.spec.paused || isScaled(deployment, owned)) return this.#resize(deployment, owned)
    if (deployment.spec.strategy?.type === 'Recreate') return this.#recreate(key, deployment, owned)
    const rollout = await this.#control.split(deployment, owned, { create: true })
    const { fresh, old } = rollout
    if (!fresh) return
    const growing = growth(rollout)
    const hasMoved =
      (await this.#control.apply(rollout, growing)) ||
      (await this.#control.apply(rollout, shrinkOldSets(rollout.deployment, old, fresh)))
    await this.#finish(key, rollout, hasMoved)
  }

  /** All old pods go, and are gone, before the first new one comes. */
  async #recreate(key: string, deployment: Deployment, owned: ReplicaSet[]): Promise<void> {
    const before = await this.#control.split(deployment, owned, { create: false })
    const stopping = before.old
      .filter(isActiveSet)
      .map((set) => ({ set, to: 0, situation: 'template changed, Recreate' as const }))
    if ((await this.#control.apply(before, stopping)) || before.old.some((set) => this.#hasPods(set)))
      return this.#finish(key, before, true)
    const rollout = before.fresh ? before : await this.#control.split(before.deployment, owned, { create: true })
    await this.#finish(key, rollout, await this.#control.apply(rollout, growth(rollout)))
  }

  #hasPods({ metadata, status }: ReplicaSet): boolean {
    return (
      (status?.replicas ?? 0) > 0 || this.#pods.byIndex('controller', metadata.uid ?? '').some((pod) => !hasEnded(pod))
    )
  }

  async #resize(deployment: Deployment, owned: ReplicaSet[]): Promise<void> {
    const rollout = await this.#control.split(deployment, owned, { create: false })
    await this.#control.apply(rollout, scaleSteps(rollout.deployment, rollout.fresh, rollout.old))
    if (rollout.deployment.spec.paused) await this.#cleanUp(rollout)
    await this.#reportCounts(rollout)
  }

  async #finish(key: string, rollout: Rollout, hasMoved: boolean): Promise<void> {
    const { deployment } = rollout
    if (!hasMoved && isComplete(deployment, deployment.status)) await this.#cleanUp(rollout)
    const nowMs = this.#clock.now()
    const status = rolloutStatus(deployment, { ...setsOf(rollout), nowMs })
    await this.#write(deployment, status)
    const againInMs = stuckInMs(deployment, status, nowMs)
    if (againInMs !== undefined) this.#queue.addAfter(key, againInMs)
  }

  async #cleanUp({ deployment, old }: Rollout): Promise<void> {
    for (const { metadata } of beyondHistory(deployment, old)) {
      const ref = { namespace: metadata.namespace, name: metadata.name ?? '' }
      await this.#client.delete(replicaSets, ref, { preconditions: { uid: metadata.uid } }).catch(ignoreNotFound)
    }
  }

  async #sayWhetherPaused(deployment: Deployment): Promise<Deployment> {
    const condition = deployment.spec.progressDeadlineSeconds === undefined ? undefined : pauseCondition(deployment)
    if (!condition) return deployment
    const conditions = withDeploymentCondition(deployment.status?.conditions, condition, this.#clock.now())
    return this.#write(deployment, { ...deployment.status, conditions })
  }

  async #reportCounts(rollout: Rollout): Promise<void> {
    const { deployment } = rollout
    await this.#write(deployment, deploymentStatus(deployment, { ...setsOf(rollout), nowMs: this.#clock.now() }))
  }

  async #write(deployment: Deployment, status: DeploymentStatus): Promise<Deployment> {
    if (isDeepStrictEqual(status, deployment.status)) return deployment
    return this.#client.update<Deployment>(deploymentsResource, { ...deployment, status }, { subresource: 'status' })
  }

  #consider({ metadata }: Deployment): void {
    this.#queue.add(`${metadata.namespace}/${metadata.name}`)
  }

  #ownerOf({ metadata }: ReplicaSet): Deployment | undefined {
    const reference = controllerOf(metadata)
    if (reference?.kind !== kind.kind) return undefined
    const owner = this.#deployments.get({ namespace: metadata.namespace, name: reference.name })
    return owner?.metadata.uid === reference.uid ? owner : undefined
  }

  #considerSet(set: ReplicaSet): void {
    const owner = this.#ownerOf(set)
    if (owner) this.#consider(owner)
    if (controllerOf(set.metadata)) return
    for (const deployment of this.#deployments.byIndex('namespace', set.metadata.namespace ?? '')) {
      const selector = fromSelectorObject(deployment.spec.selector)
      if (selector && matchesLabels(selector, set.metadata.labels)) this.#consider(deployment)
    }
  }
}

export const startDeploymentController = (context: ControllerContext): Controller => new DeploymentController(context)

const growth = ({ deployment, fresh, old }: Rollout) => {
  const wanted = sizeOf(deployment)
  if (!fresh || sizeOf(fresh) === wanted) return []
  const to = sizeOf(fresh) > wanted ? wanted : newSetSize(deployment, [...old, fresh], sizeOf(fresh))
  return [{ set: fresh, to, situation: 'scaled down' as const }]
}

const setsOf = ({ fresh, old }: Rollout) => ({ all: fresh ? [...old, fresh] : old, fresh })

/** Returns true if the size is not the one that its sets were told last. */
const isScaled = (deployment: Deployment, owned: readonly ReplicaSet[]): boolean =>
  owned.filter(isActiveSet).some(({ metadata }) => {
    const desired = metadata.annotations?.[DESIRED_REPLICAS]
    return desired !== undefined && Number(desired) !== sizeOf(deployment)
  })
