import type { Node, PodSpec } from '../types.ts'

export type Taint = NonNullable<NonNullable<Node['spec']>['taints']>[number]
export type Toleration = NonNullable<PodSpec['tolerations']>[number]

/** An empty key with Exists tolerates everything, an empty effect all effects. */
export function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  if (operator === 'Exists') return true
  return operator === 'Equal' && Boolean(key) && value === (taint.value ?? '')
}

/** The taints with one of the effects that none of the tolerations covers. */
export function untolerated(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  effects: readonly string[],
): Taint[] {
  return taints.filter(
    (taint) => effects.includes(taint.effect) && !tolerations.some((toleration) => tolerates(toleration, taint)),
  )
}
