import {
  fromSelectorObject,
  type LabelSelector,
  type LabelSelectorObject,
  selectsLabels,
} from '../../shared/api/selectors/label-selector.ts'
import type { ObjectMeta, Pod, PodTemplateSpec } from '../../shared/api/types.ts'
import type { Client, Resource } from '../../shared/client/client.ts'
import { everyState, type Informer } from '../../shared/client/informer.ts'
import { pods as podsResource } from '../../shared/client/resources.ts'
import type { WorkQueue } from '../../shared/concurrency/work-queue.ts'
import type { Reason } from '../../shared/reasons/reason-table.ts'
import type { ControllerContext } from '../controller.ts'
import { createEventRecorder, type EventRecorder } from '../event-recorder.ts'
import { controllerOf, type OwnerKind } from '../informers/ownership.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { claim } from './claims.ts'
import { createPodControl, type PodControl, type Wording } from './pod-control.ts'
import { PodExpectations } from './pod-expectations.ts'

interface Owner {
  metadata: ObjectMeta
}

export interface PodOwnersOptions<T extends Owner> {
  kind: OwnerKind & { resource: Resource }
  /** Names the loop as upstream does, and the source of its events. */
  component: string
  /** Limits how many owners are worked on at once; 5 by default. */
  concurrency?: number
  words?: Wording
  selectorOf(owner: T): LabelSelectorObject | undefined
  /** Works on an owner after it, one of its pods, or an orphan that it selects has changed. */
  sync(owner: T, selector: LabelSelector): Promise<void>
  onDelete?(owner: T): void
}

/** The objects of one kind that own pods: queues each for work, and finds, makes and deletes its pods. */
export class PodOwners<T extends Owner> {
  readonly recorder: EventRecorder
  readonly pods: Informer<TrimmedPod>
  /** Holds the owners, with the index `namespace`. */
  readonly all: Informer<T>
  readonly #client: Client
  readonly #options: PodOwnersOptions<T>
  readonly #control: PodControl
  readonly #expectations: PodExpectations
  readonly #queue: WorkQueue<string>

  constructor({ client, informers, clock, log }: ControllerContext, options: PodOwnersOptions<T>) {
    const { component, concurrency = 5, kind, words } = options
    this.#client = client
    this.#options = options
    this.recorder = createEventRecorder({ client, clock, log, component })
    this.all = informers.whole<T>(kind.resource)
    this.pods = informers.pods()
    this.#control = createPodControl({ client, recorder: this.recorder, kind, words })
    this.#expectations = new PodExpectations({ clock, pods: this.pods })
    this.#queue = createLoopQueue({ clock, log, loop: component, object: kind.kind, concurrency }, (key) =>
      this.#sync(key),
    )
    this.all.addHandler({
      ...everyState((owner) => this.consider(owner)),
      onDelete: (owner) => this.#deleted(owner),
    })
    this.pods.addHandler({
      onAdd: (pod) => this.#podChanged(pod),
      onUpdate: (pod, old) => this.#podUpdated(pod, old),
      onDelete: (pod) => this.#tellOwner(pod),
    })
  }

  consider(owner: T): void {
    this.#queue.add(keyOf(owner))
  }

  considerAfter(owner: T, delayMs: number): void {
    this.#queue.addAfter(keyOf(owner), delayMs)
  }

  /** Returns whether the informer shows all pods that were made and deleted, so that the owner's may be counted. */
  isSettled(owner: T): boolean {
    return this.#expectations.satisfied(keyOf(owner))
  }

  /** Resolves to the owner's pods, among them orphans that it adopts. `mayAdopt` allows all of them by default. */
  claim(owner: T, selector: LabelSelector, mayAdopt?: (pod: TrimmedPod) => boolean): Promise<TrimmedPod[]> {
    const { kind } = this.#options
    return claim(owner, selector, { client: this.#client, resource: podsResource, informer: this.pods, kind, mayAdopt })
  }

  /** Creates a pod of the owner. `change` has the last word on the pod. */
  async create(owner: T, template: PodTemplateSpec, change?: (pod: Pod) => void): Promise<void> {
    this.#expectations.made(keyOf(owner), await this.#control.create(owner, template, change))
  }

  /** Deletes a pod of the owner. `reason`: what the pod's hooks are told. */
  remove(owner: T, pod: TrimmedPod, reason?: Reason): Promise<void> {
    return this.#expectations.removing(keyOf(owner), pod, () => this.#control.delete(owner, pod, reason))
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.recorder.close()
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const owner = this.all.get({ namespace, name })
    if (!owner) return this.#expectations.forget(key)
    const selector = fromSelectorObject(this.#options.selectorOf(owner))
    if (selector) await this.#options.sync(owner, selector)
  }

  #deleted(owner: T): void {
    // At once: by the time of the next look there may be another of that name.
    this.#expectations.forget(keyOf(owner))
    this.#options.onDelete?.(owner)
    this.consider(owner)
  }

  #podUpdated(pod: TrimmedPod, old: TrimmedPod): void {
    const [now, before] = [controllerOf(pod.metadata), controllerOf(old.metadata)]
    if (before && before.uid !== now?.uid) this.#tellOwner(pod, before)
    if (now) this.#tellOwner(pod)
    // An orphan matters only when its labels, or its owner, change.
    else if (before || old.metadata.labels !== pod.metadata.labels) this.#podChanged(pod)
  }

  #podChanged(pod: TrimmedPod): void {
    if (controllerOf(pod.metadata)) this.#tellOwner(pod)
    else if (!pod.metadata.deletionTimestamp) this.#tellSuitors(pod)
  }

  /** Pods of other owners cost almost nothing. */
  #tellOwner(pod: TrimmedPod, reference = controllerOf(pod.metadata)): void {
    if (reference?.kind !== this.#options.kind.kind) return
    const owner = this.all.get({ namespace: pod.metadata.namespace, name: reference.name })
    if (owner?.metadata.uid === reference.uid) this.#tell(owner, pod)
  }

  #tellSuitors(pod: TrimmedPod): void {
    for (const owner of this.all.byIndex('namespace', pod.metadata.namespace ?? ''))
      if (selectsLabels(this.#options.selectorOf(owner), pod.metadata.labels)) this.#tell(owner, pod)
  }

  #tell(owner: T, pod: TrimmedPod): void {
    this.#expectations.observe(keyOf(owner), pod)
    this.consider(owner)
  }
}

const keyOf = ({ metadata }: Owner): string => `${metadata.namespace}/${metadata.name}`
