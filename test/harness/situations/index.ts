/** How to bring about each situation of the table of reasons on a running cluster. */
import type { Who } from '../../../shared/reasons/reason-table.ts'
import { ofDaemonSets } from './daemon-set.ts'
import { ofDeployments } from './deployment.ts'
import { ofCronJobs, ofJobs } from './jobs.ts'
import { ofKubelets } from './kubelet.ts'
import { ofNamespaces, ofNodes, ofPods, ofScheduler } from './pods.ts'
import { ofReplicaSets, ofReplicationControllers } from './sets.ts'
import type { Act, Acts } from './stage.ts'
import { ofStatefulSets } from './stateful-set.ts'

const situations: { [W in Who]: Acts<W> } = {
  Deployment: ofDeployments,
  ReplicaSet: ofReplicaSets,
  ReplicationController: ofReplicationControllers,
  StatefulSet: ofStatefulSets,
  DaemonSet: ofDaemonSets,
  Job: ofJobs,
  CronJob: ofCronJobs,
  Namespace: ofNamespaces,
  Pod: ofPods,
  Node: ofNodes,
  kubelet: ofKubelets,
  scheduler: ofScheduler,
}

export const actOf = (who: Who, situation: string): Act => (situations[who] as Record<string, Act>)[situation]!

/** Where programs end by themselves, fail, or fill a disk, and where nodes are lost, pods must be processes. */
const withProcesses: Partial<Record<Who, readonly string[]>> = {
  Job: ['completed', 'ttlSecondsAfterFinished over'],
  Pod: ['a probe fails, or a postStart hook'],
  Node: ['not ready, or unreachable'],
}
export const needsProcesses = (who: Who, situation: string): boolean =>
  who === 'kubelet' || (withProcesses[who]?.includes(situation) ?? false)

export { type Ended, Stage } from './stage.ts'
