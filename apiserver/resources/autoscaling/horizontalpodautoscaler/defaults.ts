import type { Autoscaler, AutoscalerSpec } from './types.ts'

const CPU_PERCENT = 80

export function defaultAutoscaler({ spec }: Pick<Autoscaler, 'spec'>): void {
  if (!spec) return
  spec.minReplicas ??= 1
  if (!spec.metrics?.length)
    spec.metrics = [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: CPU_PERCENT } },
      },
    ]
  if (spec.behavior) defaultBehavior(spec.behavior)
}

/** Growing is quick, shrinking waits for what the controller is set to. */
function defaultBehavior(behavior: NonNullable<AutoscalerSpec['behavior']>): void {
  behavior.scaleUp = {
    ...behavior.scaleUp,
    stabilizationWindowSeconds: behavior.scaleUp?.stabilizationWindowSeconds ?? 0,
    selectPolicy: behavior.scaleUp?.selectPolicy ?? 'Max',
    policies: behavior.scaleUp?.policies ?? [
      { type: 'Pods', value: 4, periodSeconds: 15 },
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ],
  }
  behavior.scaleDown = {
    ...behavior.scaleDown,
    selectPolicy: behavior.scaleDown?.selectPolicy ?? 'Max',
    policies: behavior.scaleDown?.policies ?? [{ type: 'Percent', value: 100, periodSeconds: 15 }],
  }
}
