import { isDeepStrictEqual } from 'node:util'
import { fromSelectorObject, matchesLabels } from '../../shared/api/label-selector.ts'
import { hasEnded } from '../../shared/api/pod-phase.ts'
import { ignoreNotFound, isStatus } from '../../shared/api/status-error.ts'
import type { Deployment, ReplicaSet } from '../../shared/api/workloads.ts'
import { deployments as deploymentsResource, replicaSets } from '../../shared/client/resources.ts'
import { createWorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import { claim } from '../workloads/claims.ts'
import { controllerOf } from '../workloads/ownership.ts'
import {
  type DeploymentStatus,
  deploymentStatus,
  isComplete,
  pauseCondition,
  rolloutStatus,
  stuckInMs,
  withDeploymentCondition,
} from './deployment-status.ts'
import { createReplicaSetControl, kind, type Rollout } from './replica-set-control.ts'
import { DESIRED_REPLICAS } from './revisions.ts'
import { beyondHistory, isActiveSet, newSetSize, scaleSteps, shrinkOldSets, sizeOf } from './sizes.ts'

/** Replaces the pods of deployments, set by set. Upstream: pkg/controller/deployment/deployment_controller.go. */
export function startDeploymentController(context: ControllerContext): Controller {
  const { client, informers, clock, log } = context
  const recorder = createEventRecorder({ client, clock, log, component: 'deployment-controller' })
  const control = createReplicaSetControl({ client, recorder, clock })
  const deployments = informers.whole<Deployment>(deploymentsResource)
  const sets = informers.whole<ReplicaSet>(replicaSets)
  const pods = informers.pods()

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const deployment = deployments.get({ namespace, name })
    const selector = fromSelectorObject(deployment?.spec.selector)
    if (!deployment || !selector) return
    try {
      const options = {
        client,
        resource: replicaSets,
        informer: sets,
        kind: { ...kind, resource: deploymentsResource },
      }
      await rollOut(key, await claim(deployment, selector, options), deployment)
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
    }
  }

  async function rollOut(key: string, owned: ReplicaSet[], known: Deployment): Promise<void> {
    if (known.metadata.deletionTimestamp) {
      return reportCounts(await control.split(known, owned, { create: false }))
    }
    const deployment = await sayWhetherPaused(known)
    if (deployment.spec.paused || isScaled(deployment, owned)) return resize(deployment, owned)
    if (deployment.spec.strategy?.type === 'Recreate') return recreate(key, deployment, owned)
    const rollout = await control.split(deployment, owned, { create: true })
    const { fresh, old } = rollout
    if (!fresh) return
    const growing = growth(rollout)
    const hasMoved =
      (await control.apply(rollout, growing)) ||
      (await control.apply(rollout, shrinkOldSets(rollout.deployment, old, fresh)))
    await finish(key, rollout, hasMoved)
  }

  const growth = ({ deployment, fresh, old }: Rollout) => {
    const wanted = sizeOf(deployment)
    if (!fresh || sizeOf(fresh) === wanted) return []
    const to = sizeOf(fresh) > wanted ? wanted : newSetSize(deployment, [...old, fresh], sizeOf(fresh))
    return [{ set: fresh, to, situation: 'scaled down' as const }]
  }

  /** All old pods go, and are gone, before the first new one comes. */
  async function recreate(key: string, deployment: Deployment, owned: ReplicaSet[]): Promise<void> {
    const before = await control.split(deployment, owned, { create: false })
    const stopping = before.old
      .filter(isActiveSet)
      .map((set) => ({ set, to: 0, situation: 'template changed, Recreate' as const }))
    if ((await control.apply(before, stopping)) || before.old.some(hasPods)) return finish(key, before, true)
    const rollout = before.fresh ? before : await control.split(before.deployment, owned, { create: true })
    await finish(key, rollout, await control.apply(rollout, growth(rollout)))
  }

  const hasPods = ({ metadata, status }: ReplicaSet): boolean =>
    (status?.replicas ?? 0) > 0 || pods.byIndex('controller', metadata.uid ?? '').some((pod) => !hasEnded(pod))

  async function resize(deployment: Deployment, owned: ReplicaSet[]): Promise<void> {
    const rollout = await control.split(deployment, owned, { create: false })
    await control.apply(rollout, scaleSteps(rollout.deployment, rollout.fresh, rollout.old))
    if (rollout.deployment.spec.paused) await cleanUp(rollout)
    await reportCounts(rollout)
  }

  async function finish(key: string, rollout: Rollout, hasMoved: boolean): Promise<void> {
    const { deployment } = rollout
    if (!hasMoved && isComplete(deployment, deployment.status)) await cleanUp(rollout)
    const nowMs = clock.now()
    const status = rolloutStatus(deployment, { ...setsOf(rollout), nowMs })
    await write(deployment, status)
    const againInMs = stuckInMs(deployment, status, nowMs)
    if (againInMs !== undefined) queue.addAfter(key, againInMs)
  }

  async function cleanUp({ deployment, old }: Rollout): Promise<void> {
    for (const { metadata } of beyondHistory(deployment, old)) {
      const ref = { namespace: metadata.namespace, name: metadata.name ?? '' }
      await client.delete(replicaSets, ref, { preconditions: { uid: metadata.uid } }).catch(ignoreNotFound)
    }
  }

  async function sayWhetherPaused(deployment: Deployment): Promise<Deployment> {
    const condition = deployment.spec.progressDeadlineSeconds === undefined ? undefined : pauseCondition(deployment)
    if (!condition) return deployment
    const conditions = withDeploymentCondition(deployment.status?.conditions, condition, clock.now())
    return write(deployment, { ...deployment.status, conditions })
  }

  async function reportCounts(rollout: Rollout): Promise<void> {
    const { deployment } = rollout
    await write(deployment, deploymentStatus(deployment, { ...setsOf(rollout), nowMs: clock.now() }))
  }

  async function write(deployment: Deployment, status: DeploymentStatus): Promise<Deployment> {
    if (isDeepStrictEqual(status, deployment.status)) return deployment
    return client.update<Deployment>(deploymentsResource, { ...deployment, status }, { subresource: 'status' })
  }

  const queue = createWorkQueue<string>({
    clock,
    concurrency: 5,
    work: sync,
    onError: (error, key) => log.debug({ err: error, deployment: key }, 'a deployment will be looked at again'),
  })
  const consider = ({ metadata }: Deployment): void => queue.add(`${metadata.namespace}/${metadata.name}`)
  const ownerOf = ({ metadata }: ReplicaSet): Deployment | undefined => {
    const reference = controllerOf(metadata)
    if (reference?.kind !== kind.kind) return undefined
    const owner = deployments.get({ namespace: metadata.namespace, name: reference.name })
    return owner?.metadata.uid === reference.uid ? owner : undefined
  }
  const considerSet = (set: ReplicaSet): void => {
    const owner = ownerOf(set)
    if (owner) consider(owner)
    if (controllerOf(set.metadata)) return
    for (const deployment of deployments.byIndex('namespace', set.metadata.namespace ?? '')) {
      const selector = fromSelectorObject(deployment.spec.selector)
      if (selector && matchesLabels(selector, set.metadata.labels)) consider(deployment)
    }
  }
  deployments.addHandler({ onAdd: consider, onUpdate: consider })
  sets.addHandler({
    onAdd: considerSet,
    onUpdate(set, old) {
      if (controllerOf(old.metadata)?.uid !== controllerOf(set.metadata)?.uid) considerSet(old)
      considerSet(set)
    },
    onDelete: considerSet,
  })
  // Recreate waits until the last old pod is gone.
  pods.addHandler({
    onDelete({ metadata }) {
      const reference = controllerOf(metadata)
      if (reference?.kind !== 'ReplicaSet') return
      const set = sets.get({ namespace: metadata.namespace, name: reference.name })
      const owner = set && ownerOf(set)
      if (owner?.spec.strategy?.type === 'Recreate') consider(owner)
    },
  })
  return {
    async close() {
      await queue.close()
      await recorder.close()
    },
  }
}

const setsOf = ({ fresh, old }: Rollout) => ({ all: fresh ? [...old, fresh] : old, fresh })

/** Of another size than its sets were told last. */
const isScaled = (deployment: Deployment, owned: readonly ReplicaSet[]): boolean =>
  owned.filter(isActiveSet).some(({ metadata }) => {
    const desired = metadata.annotations?.[DESIRED_REPLICAS]
    return desired !== undefined && Number(desired) !== sizeOf(deployment)
  })
