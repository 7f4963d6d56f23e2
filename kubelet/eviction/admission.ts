import { tolerates } from '../../shared/api/nodes/taints.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { NodePressure } from '../node/node-status.ts'
import { isCritical } from '../pod/critical-pod.ts'
import type { Rejection } from '../pod/rejection.ts'

const CONDITIONS: Record<keyof NodePressure, string> = {
  disk: 'DiskPressure',
  memory: 'MemoryPressure',
  pid: 'PIDPressure',
}
const MEMORY_TAINT = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' }

/** A node under pressure takes no more pods; one that only lacks memory takes those that say how much they need. */
export function admitUnderPressure(pod: Pod, pressure: NodePressure): Rejection | undefined {
  const conditions = Object.entries(CONDITIONS).flatMap(([key, name]) =>
    pressure[key as keyof NodePressure] ? name : [],
  )
  if (conditions.length === 0 || isCritical(pod)) return undefined
  if (conditions.join() === CONDITIONS.memory) {
    if (pod.status?.qosClass !== 'BestEffort') return undefined
    if (pod.spec.tolerations?.some((toleration) => tolerates(toleration, MEMORY_TAINT))) return undefined
  }
  return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` }
}
