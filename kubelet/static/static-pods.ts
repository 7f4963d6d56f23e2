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
 */
export interface StaticPods extends PodHandler {
  /** All that the manifests want now. */
  want(pods: Pod[]): void
  /** Tells the API of those that it does not know. */
  showAll(): void
  /** Nothing of a pod is left on the node. */
  over(podUid: string): void
  /** The static pod that this object of the API shows. */
  shownBy(mirror: Pod): Pod | undefined
  /** False for one whose manifest has changed or is gone: nothing is told of it any more. */
  isCurrent(pod: Pod): boolean
  list(): Iterable<Pod>
}

/**
 * Of pods of one name only one exists at a time: a changed manifest is another pod, which begins when the one before
 * has ended. Upstream: pkg/kubelet/pod_workers.go (static pods), pkg/kubelet/kubelet.go (mirror pods).
 */
export function createStaticPods({ mirrors, next }: StaticPodsOptions): StaticPods {
  const wanted = new Map<string, Pod>()
  /** What runs, or is still ending, by name. */
  const present = new Map<string, Pod>()
  const pictures = new Map<string, Pod>()
  let isRead = false

  function start(name: string): void {
    const pod = wanted.get(name)
    if (!pod || present.has(name)) return
    present.set(name, pod)
    mirrors.ensure(pod)
    next.onAdd(pod)
  }
  const isCurrent = (pod: Pod): boolean => wanted.get(nameOf(pod))?.metadata.uid === pod.metadata.uid

  /** Deletes pods of other clients that only look like mirror pods, and mirror pods whose pod is over. */
  function tidy(picture: Pod): void {
    const name = nameOf(picture)
    if (isRead && !wanted.has(name) && !present.has(name)) mirrors.remove(picture)
  }

  function seen(picture: Pod): void {
    pictures.set(nameOf(picture), picture)
    const pod = present.get(nameOf(picture))
    if (!pod || !isCurrent(pod)) tidy(picture)
    else if (picture.metadata.deletionTimestamp || !isPictureOf(picture, pod)) mirrors.ensure(pod)
    else next.onReconcile(pod)
  }

  function showAll(): void {
    for (const [name, pod] of present) if (isCurrent(pod) && !pictures.has(name)) mirrors.ensure(pod)
  }

  return {
    showAll,
    want(pods) {
      isRead = true
      wanted.clear()
      for (const pod of pods) wanted.set(nameOf(pod), pod)
      for (const pod of present.values()) if (!isCurrent(pod)) next.onRemove(pod)
      for (const name of wanted.keys()) start(name)
      showAll()
      for (const picture of pictures.values()) tidy(picture)
    },
    over(podUid) {
      const ended = [...present].find(([, { metadata }]) => metadata.uid === podUid)
      if (!ended || isCurrent(ended[1])) return
      const [name] = ended
      present.delete(name)
      start(name)
      const picture = pictures.get(name)
      if (picture) tidy(picture)
    },
    shownBy: (mirror) => present.get(nameOf(mirror)),
    isCurrent,
    list: () => present.values(),
    onAdd: (pod) => (isMirror(pod) ? seen(pod) : next.onAdd(pod)),
    onUpdate: (pod) => (isMirror(pod) ? seen(pod) : next.onUpdate(pod)),
    onReconcile: (pod) => (isMirror(pod) ? seen(pod) : next.onReconcile(pod)),
    onRemove(pod) {
      if (!isMirror(pod)) {
        next.onRemove(pod)
        return
      }
      const name = nameOf(pod)
      pictures.delete(name)
      const shown = present.get(name)
      if (shown && isCurrent(shown)) mirrors.ensure(shown)
    },
  }
}

const nameOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`
