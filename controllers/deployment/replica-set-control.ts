import { isDeepStrictEqual } from 'node:util'
import { isNamespaceGoing } from '../../shared/api/namespace-going.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { Deployment, ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import { deployments, replicaSets } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { EventRecorder } from '../event-recorder.ts'
import { controllerOf, type OwnerKind } from '../informers/ownership.ts'
import { findCondition } from '../workloads/conditions.ts'
import { wordsOf } from '../workloads/pod-control.ts'
import { SHRINKING, withSize } from '../workloads/shrink-reasons.ts'
import { isSameTemplate } from '../workloads/templates.ts'
import { hasDeadline, withDeploymentCondition } from './deployment-status.ts'
import { findNewest, newestSet } from './newest-set.ts'
import { newestAnnotations, nextRevision, REVISION, revisionOf, sizeAnnotations } from './revisions.ts'
import { maxSurge, type Step, sizeOf } from './sizes.ts'

export const kind: OwnerKind = { apiVersion: 'apps/v1', kind: 'Deployment' }

/** Holds a deployment with its sets, as far as this sync has come. */
export interface Rollout {
  deployment: Deployment
  fresh?: ReplicaSet
  old: readonly ReplicaSet[]
}

/** Returns the annotations with the reason for which the set shrinks. */
function annotated(annotations: Record<string, string>, size: Parameters<typeof withSize>[1]): Record<string, string> {
  const { [SHRINKING]: before, ...others } = annotations
  const shrinking = withSize(before, size)
  return shrinking === undefined ? others : { ...others, [SHRINKING]: shrinking }
}

/** Changes the ReplicaSets of a deployment, and writes the events and conditions that belong to each change. */
export class ReplicaSetControl {
  readonly #client: Client
  readonly #recorder: EventRecorder
  readonly #clock: Clock

  constructor({ client, recorder, clock }: { client: Client; recorder: EventRecorder; clock: Clock }) {
    this.#client = client
    this.#recorder = recorder
    this.#clock = clock
  }

  /** Finds the ReplicaSet of the current template. With `create`, the set exists afterwards. */
  async split(deployment: Deployment, sets: readonly ReplicaSet[], { create }: { create: boolean }): Promise<Rollout> {
    const found = findNewest(deployment, sets)
    const old = sets.filter((set) => set !== found)
    const revision = nextRevision(old)
    if (found) return this.#keepUp({ deployment, fresh: found, old }, revision)
    if (!create) return { deployment, old }
    const made = await this.#createNewest({ deployment, old }, revision)
    if (made.metadata.uid && sizeOf(made) > 0) {
      const message = `Scaled up replica set ${made.metadata.name} from 0 to ${sizeOf(made)}`
      this.#tell(deployment, 'Normal', 'ScalingReplicaSet', message)
    }
    const message = `Created new replica set "${made.metadata.name}"`
    const noted = await this.#note(deployment, revision, 'NewReplicaSetCreated', message)
    return { deployment: noted, fresh: made, old }
  }

  /** Resizes the sets. Resolves to whether any size has changed. */
  async apply({ deployment }: Rollout, steps: readonly Step[]): Promise<boolean> {
    const wanted = sizeOf(deployment)
    const said = sizeAnnotations(wanted, wanted + maxSurge(deployment))
    const latest = new Map<string, ReplicaSet>()
    let hasScaled = false
    for (const { set, to, situation } of steps) {
      const { name = '' } = set.metadata
      const current = latest.get(name) ?? set
      const from = sizeOf(current)
      const annotations = annotated({ ...current.metadata.annotations, ...said }, { from, to, situation })
      if (from === to && isDeepStrictEqual(annotations, current.metadata.annotations)) continue
      const metadata = { ...current.metadata, annotations }
      const changed = { ...current, metadata, spec: { ...current.spec, replicas: to } }
      latest.set(name, await this.#client.update<ReplicaSet>(replicaSets, changed))
      if (from === to) continue
      hasScaled = true
      const direction = to > from ? 'up' : 'down'
      const message = `Scaled ${direction} replica set ${name} from ${from} to ${to}`
      this.#tell(deployment, 'Normal', 'ScalingReplicaSet', message)
    }
    return hasScaled
  }

  #tell(regarding: Deployment, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#recorder.record({ ...kind, regarding, type, reason, message })
  }

  /** The newest set follows the deployment's annotations and minReadySeconds; the deployment its revision. */
  async #keepUp({ deployment, fresh, old }: Required<Rollout>, revision: bigint): Promise<Rollout> {
    const annotations = newestAnnotations(deployment, fresh, revision)
    const minReadySeconds = deployment.spec.minReadySeconds
    if (
      !isDeepStrictEqual(annotations, fresh.metadata.annotations ?? {}) ||
      (minReadySeconds ?? 0) !== (fresh.spec.minReadySeconds ?? 0)
    ) {
      const metadata = { ...fresh.metadata, annotations }
      const changed = { ...fresh, metadata, spec: { ...fresh.spec, minReadySeconds } }
      fresh = await this.#client.update<ReplicaSet>(replicaSets, changed)
    }
    const message = `Found new replica set "${fresh.metadata.name}"`
    const isSaid = findCondition(deployment.status?.conditions, 'Progressing') !== undefined
    const noted = await this.#note(deployment, revisionOf(fresh), isSaid ? undefined : 'FoundNewReplicaSet', message)
    return { deployment: noted, fresh, old }
  }

  async #createNewest({ deployment, old }: Rollout, revision: bigint): Promise<ReplicaSet> {
    const wanted = newestSet(deployment, { old, revision, kind })
    const { name = '', namespace } = wanted.metadata
    try {
      return await this.#client.create<ReplicaSet>(replicaSets, wanted)
    } catch (error) {
      if (isStatus(error, 'AlreadyExists')) {
        const there = await this.#client.get<ReplicaSet>(replicaSets, { namespace, name })
        const isOurs = controllerOf(there.metadata)?.uid === deployment.metadata.uid
        if (isOurs && isSameTemplate(there.spec.template, deployment.spec.template)) return there
        await this.#countCollision(deployment)
      } else if (!isNamespaceGoing(error)) {
        const message = `Failed to create new replica set "${name}": ${wordsOf(error)}`
        await this.#fail(deployment, message)
        this.#tell(deployment, 'Warning', 'ReplicaSetCreateError', message)
      }
      throw error
    }
  }

  /** The next look takes another name. */
  async #countCollision(deployment: Deployment): Promise<void> {
    const status = { ...deployment.status, collisionCount: (deployment.status?.collisionCount ?? 0) + 1 }
    await this.#client.update<Deployment>(deployments, { ...deployment, status }, { subresource: 'status' })
  }

  async #fail(deployment: Deployment, message: string): Promise<void> {
    if (!hasDeadline(deployment)) return
    const condition = { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message }
    const conditions = withDeploymentCondition(deployment.status?.conditions, condition, this.#clock.now())
    const status = { ...deployment.status, conditions }
    await this.#client.update<Deployment>(deployments, { ...deployment, status }, { subresource: 'status' })
  }

  /** Writes the revision, and, with a reason, that the rollout gets on. */
  async #note(
    deployment: Deployment,
    revision: bigint,
    reason: string | undefined,
    message: string,
  ): Promise<Deployment> {
    const says = reason !== undefined && hasDeadline(deployment)
    if (!says && revisionOf(deployment) === revision) return deployment
    const annotations = { ...deployment.metadata.annotations, [REVISION]: String(revision) }
    const condition = { type: 'Progressing', status: 'True', reason, message }
    const status = {
      ...deployment.status,
      ...(says && { conditions: withDeploymentCondition(deployment.status?.conditions, condition, this.#clock.now()) }),
    }
    const changed = { ...deployment, metadata: { ...deployment.metadata, annotations }, status }
    return await this.#client.update<Deployment>(deployments, changed, { subresource: 'status' })
  }
}
