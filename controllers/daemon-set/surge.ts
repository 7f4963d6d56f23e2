import { scaledValue } from '../../shared/api/quantities/int-or-percent.ts'
import type { DaemonSet } from '../../shared/api/workloads/workloads.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { isAvailable, isReady } from '../workloads/pod-states.ts'
import { REVISION_HASH_LABEL } from '../workloads/revision-history.ts'

/** Returns how many nodes may have two pods at a time during an update. Upstream: SurgeCount. */
export function surgeCount({ spec }: DaemonSet, nodes: number): number {
  const { type, rollingUpdate } = spec.updateStrategy ?? {}
  if (type === 'OnDelete') return 0
  const maxSurge = rollingUpdate?.maxSurge as number | string | undefined
  return scaledValue(maxSurge ?? 0, nodes, Math.ceil)
}

interface Revised {
  set: DaemonSet
  hash: string
  nowMs: number
}
const isNew = ({ metadata }: TrimmedPod, { hash }: Revised): boolean => metadata.labels?.[REVISION_HASH_LABEL] === hash
const isUp = (pod: TrimmedPod, { set, nowMs }: Revised): boolean =>
  isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)

/**
 * Returns the surplus pods of a node. `here` is sorted, the oldest first. One old and one new pod may stay; the old one
 * leaves when the new one is available, or the old one is not ready. Upstream: podsShouldBeOnNode.
 */
export function superfluous(here: readonly TrimmedPod[], revised: Revised): TrimmedPod[] {
  const fresh = here.filter((pod) => isNew(pod, revised))
  const old = here.filter((pod) => !fresh.includes(pod))
  const [newOne] = fresh
  const [oldOne] = old
  const isReplaced = newOne && oldOne && (!isReady(oldOne) || isUp(newOne, revised))
  return [...fresh.slice(1), ...old.slice(1), ...(isReplaced ? [oldOne] : [])]
}

/**
 * Nodes that get a new pod beside their old one now: all whose old one is down, others as far as there is room.
 * Upstream: rollingUpdate in update.go.
 */
export function surgeOn(byNode: ReadonlyMap<string, readonly TrimmedPod[]>, revised: Revised): string[] {
  const down: string[] = []
  const candidates: string[] = []
  let surging = 0
  for (const [node, pods] of byNode) {
    const here = pods.filter(({ metadata }) => !metadata.deletionTimestamp)
    const fresh = here.find((pod) => isNew(pod, revised))
    const old = here.find((pod) => !isNew(pod, revised))
    if (!old) continue
    if (!fresh) (isUp(old, revised) ? candidates : down).push(node)
    else if (!isUp(fresh, revised)) surging += 1
  }
  const room = Math.max(0, surgeCount(revised.set, byNode.size) - surging)
  return [...down, ...candidates.slice(0, room)]
}
