import { hasEnded } from '../shared/api/pods/pod-phase.ts'
import type { Pod } from '../shared/api/types.ts'
import type { Informer } from '../shared/client/informer.ts'
import { withinLimit } from '../shared/clock/within-limit.ts'
import { PodAdmission } from './admission/pod-admission.ts'
import type { KillOptions } from './ending/pod-state-machine.ts'
import type { KubeletBase } from './kubelet-base.ts'
import type { NodeRegistration } from './node/node-registration.ts'
import type { PodNetwork } from './node/pod-network.ts'
import type { AdmitHandler } from './pod/rejection.ts'
import { isMirror, isStatic } from './pod/static-pod.ts'
import { PodLifecycle, type PodsGround } from './pods/pod-lifecycle.ts'
import { startPodSource } from './pods/pod-source.ts'
import { type ManifestFolder, watchManifests } from './static/manifest-folder.ts'
import { createMirrorPods } from './static/mirror-pods.ts'
import { StaticPods } from './static/static-pods.ts'
import type { Volume } from './volumes/volume-payload.ts'

interface NodePodsOptions {
  base: KubeletBase
  ground: PodsGround
  network: PodNetwork
  node: NodeRegistration
  /** Asked in this order whether the node takes a pod. */
  admitHandlers: readonly AdmitHandler[]
}

/** Limits how long the last statuses and records are written when the kubelet stops. */
const flushMs = 2_000

/**
 * All pods of a node, and the way of each: the API and the manifests have it, static pods are sorted out, the node
 * admits it, and its life cycle runs it.
 */
export class NodePods {
  readonly #base: KubeletBase
  readonly #lifecycle: PodLifecycle
  readonly #admission: PodAdmission
  readonly #statics: StaticPods
  readonly #source: Informer<Pod>
  readonly #manifests: ManifestFolder | undefined

  constructor({ base, ground, network, node, admitHandlers }: NodePodsOptions) {
    this.#base = base
    const { client, clock, nodeName, staticPodPath, warn } = base
    // What the life cycle calls is made below: no pod is known before the source has its first list.
    this.#lifecycle = new PodLifecycle(
      {
        ...base,
        networkProblem: () => network.problem,
        lostAt: (pod) => network.lostAt(pod),
        makeRoom: (pod) => this.#admission.resize(pod),
        latest: (pod) => (isStatic(pod) && !this.#statics.isCurrent(pod) ? undefined : this.#object(pod)),
        onOver: (podUid) => this.#over(podUid),
      },
      ground,
    )
    this.#admission = new PodAdmission(
      {
        ...base,
        statuses: this.#lifecycle.statuses,
        reject: (pod, status) => this.#lifecycle.rejected(pod, status),
        handlers: admitHandlers,
        node: () => node.object(),
        kill: (pod, how) => this.kill(pod, how),
      },
      this.#lifecycle,
    )
    this.#statics = new StaticPods({
      mirrors: createMirrorPods({
        client,
        find: (pod) => this.#object(pod),
        node: () => node.seen(),
        onError: (error, pod) => warn(error, 'a mirror pod could not be kept', pod),
      }),
      next: this.#admission,
    })
    const onError = (error: unknown): void => warn(error, 'pods could not be watched')
    this.#source = startPodSource({ client, clock, nodeName, onError, handler: this.#statics })
    if (staticPodPath !== undefined)
      this.#manifests = watchManifests({
        folder: staticPodPath,
        nodeName,
        clock,
        onPods: (pods) => this.#statics.want(pods),
        onError: (error, file) => warn(error, `${file} could not be read as a pod`),
      })
  }

  /** Resolves when the first pods are known, and all that starting a container needs. */
  async synced(): Promise<void> {
    await Promise.all([this.#source.synced(), this.#lifecycle.synced(), this.#manifests?.read])
  }

  /** Ends what still runs of pods that neither the API nor a manifest has. */
  async endOrphans(): Promise<void> {
    const known = [...this.#source.list(), ...this.#statics.list()]
    await this.#lifecycle.endOrphans(new Set(known.map(({ metadata }) => metadata.uid ?? '')))
  }

  /** Lists the pods with our own newest status of each, which may be ahead of the API's. */
  *list(): Generator<Pod> {
    for (const object of this.#source.list()) {
      const pod = isMirror(object) ? this.#statics.shownBy(object) : object
      if (pod) yield { ...pod, status: this.#lifecycle.statuses.get(pod.metadata.uid ?? '') ?? pod.status }
    }
  }

  *active(): Generator<Pod> {
    for (const pod of this.list()) if (!hasEnded(pod)) yield pod
  }

  kill(pod: Pod, how: KillOptions): Promise<void> {
    return this.#lifecycle.workers.kill(pod, how)
  }

  syncAll(): void {
    this.#lifecycle.workers.syncAll()
  }

  /** Shows the static pods to an API that has no mirror pods of them. */
  showStatic(): void {
    this.#statics.showAll()
  }

  volumePath(pod: Pod, volume: Volume): string {
    return this.#lifecycle.volumePath(pod, volume)
  }

  /** Resolves when what is to be said of the pods is written, or the time for it is over. */
  async flush(limitMs = flushMs): Promise<void> {
    await withinLimit(this.#lifecycle.flush(), limitMs, this.#base.clock.machine)
  }

  async close(): Promise<void> {
    this.#manifests?.close()
    await Promise.all([this.#source.close(), this.#lifecycle.close()])
  }

  #object({ metadata }: Pod): Pod | undefined {
    return this.#source.get({ namespace: metadata.namespace, name: metadata.name ?? '' })
  }

  #over(podUid: string): void {
    this.#admission.released(podUid)
    this.#statics.over(podUid)
  }
}
