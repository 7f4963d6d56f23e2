import type { Taint } from '../../shared/api/taints.ts'
import type { Node } from '../../shared/api/types.ts'
import { toTime } from '../../shared/clock/timestamp.ts'

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

/**
 * The taints that a node should have by its conditions, those of others untouched; undefined when it has them.
 * `evict`: NoExecute taints too. They are withheld while no node at all is ready: then it is not the nodes that are ill.
 */
export function conditionTaints(
  { spec, status }: Node,
  options: { evict: boolean; nowMs: number },
): Taint[] | undefined {
  const current = spec?.taints ?? []
  const causes = (status?.conditions ?? []).flatMap(({ type, status: state }) => TAINTS[type]?.[state] ?? [])
  const wanted: Taint[] = [
    ...[...causes, ...(spec?.unschedulable ? [UNSCHEDULABLE] : [])].map((key) => taint(key, 'NoSchedule')),
    ...causes.filter((key) => options.evict && EVICTING.includes(key)).map((key) => taint(key, 'NoExecute')),
  ]
  const stale = current.filter((old) => isManaged(old) && !wanted.some((other) => same(old, other)))
  const missing = wanted.filter((other) => !current.some((old) => same(old, other)))
  if (stale.length + missing.length === 0) return undefined
  const added = missing.map((one) => ({ ...one, timeAdded: toTime(options.nowMs) }))
  return [...current.filter((old) => !stale.includes(old)), ...added]
}

const taint = (key: string, effect: string): Taint => ({ key: PREFIX + key, effect })
const same = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect

const MANAGED = [...Object.values(TAINTS).flatMap((states) => Object.values(states)), UNSCHEDULABLE]
function isManaged({ key, effect }: Taint): boolean {
  const keys = effect === 'NoSchedule' ? MANAGED : effect === 'NoExecute' ? EVICTING : []
  return keys.some((name) => key === PREFIX + name)
}
