/** Bounds what metrics ask for by what is allowed now. Upstream: pkg/controller/podautoscaler/horizontal.go. */
import { ableToScale, type NewCondition, scalingLimited } from './conditions.ts'
import type { ScalingHistory } from './scaling-history.ts'
import type { AutoscalerSpec, Behavior, ScalingRules } from './types.ts'

export interface Wish {
  currentReplicas: number
  /** The metrics ask for as many. */
  wanted: number
  minReplicas: number
  maxReplicas: number
  behavior: AutoscalerSpec['behavior']
}
export interface Allowed {
  replicas: number
  conditions: NewCondition[]
}
interface Limited {
  replicas: number
  reason: string
  message: string
}

const inRange = (replicas: number): Limited => ({
  replicas,
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
})
const limits = {
  TooManyReplicas: 'the desired replica count is more than the maximum replica count',
  TooFewReplicas: 'the desired replica count is less than the minimum replica count',
  ScaleUpLimit: 'the desired replica count is increasing faster than the maximum scale rate',
  ScaleDownLimit: 'the desired replica count is decreasing faster than the maximum scale rate',
} as const
const limitedTo = (replicas: number, reason: keyof typeof limits): Limited => ({
  replicas,
  reason,
  message: limits[reason],
})

const downStabilized = 'recent recommendations were higher than current one, applying the highest recent recommendation'
const upStabilized = 'recent recommendations were lower than current one, applying the lowest recent recommendation'

/** Returns how many replicas the target gets, and the conditions that say why; notes the wish in the history. */
export function desiredReplicas(
  wish: Wish,
  history: ScalingHistory,
  { nowMs, downscaleStabilizationMs }: { nowMs: number; downscaleStabilizationMs: number },
): Allowed {
  const { behavior, wanted, currentReplicas } = wish
  const stabilized = behavior
    ? stabilizedByRules(wish, behavior, history, { nowMs, downscaleStabilizationMs })
    : history.highestSince(nowMs - downscaleStabilizationMs, wanted)
  history.recommend(wanted, nowMs, longestWindowMs(behavior, downscaleStabilizationMs))
  const isGrowth = behavior !== undefined && wanted >= currentReplicas
  const stable =
    stabilized === wanted
      ? ableToScale('True', 'ReadyForNewScale', 'recommended size matches current size')
      : ableToScale(
          'True',
          isGrowth ? 'ScaleUpStabilized' : 'ScaleDownStabilized',
          isGrowth ? upStabilized : downStabilized,
        )
  const asked = { ...wish, wanted: stabilized }
  const { replicas, reason, message } = behavior
    ? limitedByRules(asked, behavior, history, nowMs)
    : limitedByDefault(asked)
  return { replicas, conditions: [stable, scalingLimited(replicas === stabilized ? 'False' : 'True', reason, message)] }
}

const windowMs = (rules: ScalingRules | undefined, byDefaultMs: number): number =>
  rules?.stabilizationWindowSeconds === undefined ? byDefaultMs : rules.stabilizationWindowSeconds * 1_000
const longestWindowMs = (behavior: Behavior | undefined, byDefaultMs: number): number =>
  Math.max(windowMs(behavior?.scaleUp, 0), windowMs(behavior?.scaleDown, byDefaultMs))

function stabilizedByRules(
  { wanted, currentReplicas }: Wish,
  { scaleUp, scaleDown }: Behavior,
  history: ScalingHistory,
  { nowMs, downscaleStabilizationMs }: { nowMs: number; downscaleStabilizationMs: number },
): number {
  const lowest = history.lowestSince(nowMs - windowMs(scaleUp, 0), wanted)
  const highest = history.highestSince(nowMs - windowMs(scaleDown, downscaleStabilizationMs), wanted)
  return Math.min(Math.max(currentReplicas, lowest), highest)
}

/** Without rules a target at most doubles, but may always have four replicas. */
function limitedByDefault({ wanted, currentReplicas, minReplicas, maxReplicas }: Wish): Limited {
  const fastest = Math.max(2 * currentReplicas, 4)
  if (wanted < minReplicas) return limitedTo(minReplicas, 'TooFewReplicas')
  if (wanted <= Math.min(maxReplicas, fastest)) return inRange(wanted)
  return maxReplicas > fastest ? limitedTo(fastest, 'ScaleUpLimit') : limitedTo(maxReplicas, 'TooManyReplicas')
}

function limitedByRules(
  { wanted, currentReplicas, minReplicas, maxReplicas }: Wish,
  { scaleUp, scaleDown }: Behavior,
  history: ScalingHistory,
  nowMs: number,
): Limited {
  if (wanted > currentReplicas) {
    const limit = Math.max(currentReplicas, limitOf(scaleUp, 'up', { currentReplicas, history, nowMs }))
    if (wanted <= Math.min(maxReplicas, limit)) return inRange(wanted)
    return maxReplicas > limit ? limitedTo(limit, 'ScaleUpLimit') : limitedTo(maxReplicas, 'TooManyReplicas')
  }
  if (wanted < currentReplicas) {
    const limit = Math.min(currentReplicas, limitOf(scaleDown, 'down', { currentReplicas, history, nowMs }))
    if (wanted >= Math.max(minReplicas, limit)) return inRange(wanted)
    return minReplicas < limit ? limitedTo(limit, 'ScaleDownLimit') : limitedTo(minReplicas, 'TooFewReplicas')
  }
  return inRange(wanted)
}

/** The farthest size that the policies allow: the largest change of all, unless `selectPolicy` is `Min`. */
function limitOf(
  { selectPolicy, policies = [] }: ScalingRules = {},
  direction: 'up' | 'down',
  { currentReplicas, history, nowMs }: { currentReplicas: number; history: ScalingHistory; nowMs: number },
): number {
  if (selectPolicy === 'Disabled') return currentReplicas
  const proposals = policies.map(({ type, value, periodSeconds }) => {
    const before = currentReplicas - history.growthSince(nowMs - periodSeconds * 1_000)
    if (type === 'Pods') return direction === 'up' ? before + value : before - value
    return direction === 'up' ? Math.ceil(before * (1 + value / 100)) : Math.trunc(before * (1 - value / 100))
  })
  return (direction === 'up') === (selectPolicy === 'Min') ? Math.min(...proposals) : Math.max(...proposals)
}
