import type { Pod } from '../../shared/api/types.ts'
import { isStatic } from './static-pod.ts'

/** The classes system-cluster-critical and system-node-critical have at least this priority. */
export const CRITICAL_PRIORITY = 2_000_000_000

/** A pod that others make room for, and that node pressure spares. */
export const isCritical = (pod: Pod): boolean => isStatic(pod) || (pod.spec.priority ?? 0) >= CRITICAL_PRIORITY
