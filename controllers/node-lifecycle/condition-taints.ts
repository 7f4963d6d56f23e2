import type { Taint } from '../../shared/api/nodes/taints.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { TrimmedNode } from '../informers/trimmed-node.ts'

const PREFIX = 'node.kubernetes.io/'

/** Condition → status → the taint that goes with it. */
const TAINTS: Record<string, Record<string, string>> = {
  Ready: { False: 'not-ready', Unknown: 'unreachable' },
  MemoryPressure: { True: 'memory-pressure' },
  DiskPressure: { True: 'disk-pressure' },
  PIDPressure: { True: 'pid-pressure' },
  NetworkUnavailable: { True: 'network-unavailable' },
}
const UNSCHEDULABLE = 'unschedulable'
const EVICTING = ['not-ready', 'unreachable']

/** Says whether NoExecute taints may be added. With `keep`, an existing one may stay or change its key. */
export type EvictionStance = 'add' | 'keep' | 'none'

/**
 * Returns the node's taints as its conditions require them, without touching the taints of others; undefined if nothing
 * changes.
 */
export function conditionTaints(
  { spec, status }: TrimmedNode,
  { stance, nowMs }: { stance: EvictionStance; nowMs: number },
): Taint[] | undefined {
  const current = spec?.taints ?? []
  const causes = (status?.conditions ?? []).flatMap(({ type, status: state }) => TAINTS[type]?.[state] ?? [])
  const evicts = stance === 'add' || (stance === 'keep' && current.some(isEvicting))
  const wanted: Taint[] = [
    ...[...causes, ...(spec?.unschedulable ? [UNSCHEDULABLE] : [])].map((key) => taint(key, 'NoSchedule')),
    ...causes.filter((key) => evicts && EVICTING.includes(key)).map((key) => taint(key, 'NoExecute')),
  ]
  const stale = current.filter((old) => isManaged(old) && !wanted.some((other) => same(old, other)))
  const missing = wanted.filter((other) => !current.some((old) => same(old, other)))
  if (stale.length + missing.length === 0) return undefined
  const added = missing.map((one) => ({ ...one, timeAdded: toTime(nowMs) }))
  return [...current.filter((old) => !stale.includes(old)), ...added]
}

/** Returns whether the taint evicts pods because the node is not ready. */
export const isEvicting = ({ key, effect }: Taint): boolean =>
  effect === 'NoExecute' && EVICTING.some((name) => key === PREFIX + name)

const taint = (key: string, effect: string): Taint => ({ key: PREFIX + key, effect })
const same = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect

const MANAGED = [...Object.values(TAINTS).flatMap((states) => Object.values(states)), UNSCHEDULABLE]
const isManaged = (taint: Taint): boolean =>
  isEvicting(taint) || (taint.effect === 'NoSchedule' && MANAGED.some((name) => taint.key === PREFIX + name))
