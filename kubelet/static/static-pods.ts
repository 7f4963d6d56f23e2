import type { Pod } from '../../shared/api/types.ts'
import { isMirror } from '../pod/static-pod.ts'
import type { PodHandler } from '../pods/pod-source.ts'
import { isPictureOf, type MirrorPods } from './mirror-pods.ts'

export interface StaticPodsOptions {
  mirrors: MirrorPods
  /** Handled like pods of the API, in their own names and UIDs. */
  next: PodHandler
}

/**
 * Pods that the node wants by itself. Stands before the handler of the API's pods, which never sees their mirror pods.
 *
 * Of pods of one name only one exists at a time: a changed manifest is another pod, which begins when the one before
 * has ended. Upstream: pkg/kubelet/pod_workers.go (static pods), pkg/kubelet/kubelet.go (mirror pods).
 */
export class StaticPods implements PodHandler {
  readonly #mirrors: MirrorPods
  readonly #next: PodHandler
  readonly #wanted = new Map<string, Pod>()
  /** Pods that run, or are still ending, by name. */
  readonly #present = new Map<string, Pod>()
  readonly #mirrored = new Map<string, Pod>()
  #isRead = false

  constructor({ mirrors, next }: StaticPodsOptions) {
    this.#mirrors = mirrors
    this.#next = next
  }

  /** Sets the pods that the manifests describe now. */
  want(pods: Pod[]): void {
    this.#isRead = true
    this.#wanted.clear()
    for (const pod of pods) this.#wanted.set(nameOf(pod), pod)
    for (const pod of this.#present.values()) if (!this.isCurrent(pod)) this.#next.onRemove(pod)
    for (const name of this.#wanted.keys()) this.#start(name)
    this.showAll()
    for (const mirror of this.#mirrored.values()) this.#tidy(mirror)
  }

  /** Tells the API of those that it does not know. */
  showAll(): void {
    for (const [name, pod] of this.#present) {
      if (this.isCurrent(pod) && !this.#mirrored.has(name)) this.#mirrors.ensure(pod)
    }
  }

  /** Handles the end of a pod of which nothing is left on the node. */
  over(podUid: string): void {
    const ended = [...this.#present].find(([, { metadata }]) => metadata.uid === podUid)
    if (!ended || this.isCurrent(ended[1])) return
    const [name] = ended
    this.#present.delete(name)
    this.#start(name)
    const mirror = this.#mirrored.get(name)
    if (mirror) this.#tidy(mirror)
  }

  shownBy(mirror: Pod): Pod | undefined {
    return this.#present.get(nameOf(mirror))
  }

  /** Returns false for a pod whose manifest has changed or is gone. The kubelet reports no more of it. */
  isCurrent(pod: Pod): boolean {
    return this.#wanted.get(nameOf(pod))?.metadata.uid === pod.metadata.uid
  }

  list(): Iterable<Pod> {
    return this.#present.values()
  }

  onAdd(pod: Pod): void {
    if (isMirror(pod)) this.#seen(pod)
    else this.#next.onAdd(pod)
  }

  onUpdate(pod: Pod): void {
    if (isMirror(pod)) this.#seen(pod)
    else this.#next.onUpdate(pod)
  }

  onReconcile(pod: Pod): void {
    if (isMirror(pod)) this.#seen(pod)
    else this.#next.onReconcile(pod)
  }

  onRemove(pod: Pod): void {
    if (!isMirror(pod)) {
      this.#next.onRemove(pod)
      return
    }
    const name = nameOf(pod)
    this.#mirrored.delete(name)
    const shown = this.#present.get(name)
    if (shown && this.isCurrent(shown)) this.#mirrors.ensure(shown)
  }

  #start(name: string): void {
    const pod = this.#wanted.get(name)
    if (!pod || this.#present.has(name)) return
    this.#present.set(name, pod)
    this.#mirrors.ensure(pod)
    this.#next.onAdd(pod)
  }

  #seen(mirror: Pod): void {
    this.#mirrored.set(nameOf(mirror), mirror)
    const pod = this.#present.get(nameOf(mirror))
    if (!pod || !this.isCurrent(pod)) this.#tidy(mirror)
    else if (mirror.metadata.deletionTimestamp || !isPictureOf(mirror, pod)) this.#mirrors.ensure(pod)
    else this.#next.onReconcile(pod)
  }

  /** Deletes pods of other clients that only look like mirror pods, and mirror pods whose pod is over. */
  #tidy(mirror: Pod): void {
    const name = nameOf(mirror)
    if (this.#isRead && !this.#wanted.has(name) && !this.#present.has(name)) this.#mirrors.remove(mirror)
  }
}

const nameOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`
