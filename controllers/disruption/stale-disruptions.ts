import { hasEnded } from '../../shared/api/pods/pod-phase.ts'
import type { PodCondition } from '../../shared/api/types.ts'
import { DISRUPTION_TIMEOUT_MS } from '../../shared/api/workloads/disruption-budget.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import { createLoopQueue } from '../loop-queue.ts'
import { setPodStatus } from '../pods/pod-conditions.ts'

/**
 * Takes DisruptionTarget back from a pod that was to be deleted and is not, two minutes later. What the kubelet says
 * stands: its kills may take longer. Upstream: pkg/controller/disruption, stale pod disruption.
 */
export function startStaleDisruptions({ client, informers, clock, log }: ControllerContext): Controller {
  const pods = informers.pods()

  async function sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const pod = pods.get({ namespace, name })
    const condition = pod && pendingDisruption(pod)
    if (!condition) return
    const leftMs = parseTime(condition.lastTransitionTime ?? '') + DISRUPTION_TIMEOUT_MS - clock.now()
    if (leftMs > 0) return queue.addAfter(key, leftMs)
    await setPodStatus(client, pod, { condition: { type: 'DisruptionTarget', status: 'False' } }, clock.now())
  }

  const queue = createLoopQueue({ clock, log, loop: 'disruption-controller', object: 'Pod' }, sync)
  const consider = (pod: TrimmedPod): void => {
    if (pendingDisruption(pod)) queue.add(`${pod.metadata.namespace}/${pod.metadata.name}`)
  }
  pods.addHandler({ onAdd: consider, onUpdate: consider })
  return { close: () => queue.close() }
}

function pendingDisruption(pod: TrimmedPod): PodCondition | undefined {
  if (pod.metadata.deletionTimestamp || hasEnded(pod)) return undefined
  const condition = pod.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  return condition?.status === 'True' && condition.reason !== 'TerminationByKubelet' ? condition : undefined
}
