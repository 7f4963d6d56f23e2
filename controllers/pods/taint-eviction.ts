import { type Taint, type Toleration, tolerates, untolerated } from '../../shared/api/nodes/taints.ts'
import { ignoring } from '../../shared/api/status/status-error.ts'
import type { ObjectRef } from '../../shared/client/client.ts'
import { pods as podsResource } from '../../shared/client/resources.ts'
import type { Timer } from '../../shared/clock/clock.ts'
import { reasonFor } from '../../shared/reasons/reason-table.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createEventRecorder } from '../event-recorder.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { setPodStatus } from './pod-conditions.ts'

const COMPONENT = 'taint-eviction-controller'
const DISRUPTION = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'DeletionByTaintManager',
  message: 'Taint manager: deleting due to NoExecute taint',
}

/** Deletes pods from nodes whose NoExecute taints they do not tolerate, or no longer. */
export function startTaintEviction(context: ControllerContext): Controller {
  const { client, informers, clock, log } = context
  const recorder = createEventRecorder({ client, clock, log, component: COMPONENT })
  const pods = informers.pods()
  const nodes = informers.nodes()
  /** Pods whose time on their node is limited, by UID. */
  const scheduled = new Map<string, { timer: Timer; ref: ObjectRef; seconds: number }>()

  function consider(pod: TrimmedPod): void {
    const { uid = '', namespace, name = '', deletionTimestamp } = pod.metadata
    const node = nodes.get({ name: pod.spec.nodeName ?? '' })
    const taints = (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute')
    if (deletionTimestamp) return void cancel(uid)
    const seconds = secondsAllowed(taints, pod.spec.tolerations ?? [])
    // The time runs from now on, whatever else happens to the pod or the taint; but it may be over at once.
    const known = scheduled.get(uid)
    if (known && seconds < Number.POSITIVE_INFINITY && (seconds > 0 || known.seconds === 0)) return
    if (cancel(uid)) record(pod, `Cancelling deletion of Pod ${nameOf(pod)}`)
    if (seconds === Number.POSITIVE_INFINITY) return
    const timer = clock.setTimer(seconds * 1000, () => evictions.add(uid), { background: true })
    scheduled.set(uid, { timer, ref: { namespace, name }, seconds })
  }

  async function evict(uid: string): Promise<void> {
    const ref = scheduled.get(uid)?.ref
    const pod = ref && pods.get(ref)
    if (pod?.metadata.uid !== uid) return void scheduled.delete(uid)
    record(pod, `Marking for deletion Pod ${nameOf(pod)}`)
    await setPodStatus(client, pod, { condition: DISRUPTION }, clock.now())
    await client
      .delete(podsResource, ref!, {
        preconditions: { uid },
        reason: reasonFor('Node', 'NoExecute taint not tolerated'),
      })
      .catch(ignoring('NotFound', 'Conflict'))
    scheduled.delete(uid)
  }

  function cancel(uid: string): boolean {
    scheduled.get(uid)?.timer.cancel()
    return scheduled.delete(uid)
  }

  const record = (regarding: TrimmedPod, message: string): void =>
    recorder.record({ kind: 'Pod', regarding, type: 'Normal', reason: 'TaintManagerEviction', message })

  const evictions = createLoopQueue(
    { clock, log, loop: COMPONENT, object: (uid) => `Pod ${keyOf(scheduled.get(uid)?.ref)}`, concurrency: 8 },
    evict,
  )
  const considerNode = (node: TrimmedNode, old?: TrimmedNode): void => {
    if (JSON.stringify(node.spec?.taints) === JSON.stringify(old?.spec?.taints)) return
    for (const pod of pods.list()) if (pod.spec.nodeName === node.metadata.name) consider(pod)
  }
  nodes.addHandler({ onAdd: (node) => considerNode(node), onUpdate: considerNode })
  pods.addHandler({
    onAdd: consider,
    onUpdate: consider,
    onDelete: ({ metadata: { uid = '' } }) => cancel(uid),
  })
  return {
    async close() {
      for (const uid of [...scheduled.keys()]) cancel(uid)
      await evictions.close()
      await recorder.close()
    },
  }
}

/** Zero when a taint is not tolerated; the shortest toleration otherwise. */
function secondsAllowed(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  if (untolerated(taints, tolerations, ['NoExecute']).length > 0) return 0
  const used = tolerations.filter((toleration) => taints.some((taint) => tolerates(toleration, taint)))
  return Math.max(
    0,
    Math.min(...used.map(({ tolerationSeconds = Number.POSITIVE_INFINITY }) => Number(tolerationSeconds))),
  )
}

const nameOf = ({ metadata }: TrimmedPod): string => `${metadata.namespace}/${metadata.name}`
const keyOf = (ref: ObjectRef | undefined): string => `${ref?.namespace}/${ref?.name}`
