import { fromSelectorObject, type LabelSelector, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import type { PodDisruptionBudget } from '../../shared/api/types.ts'
import type { PodInfo } from './node-info.ts'

/**
 * Tells which pods preemption may end without violating a disruption budget. Upstream: filterPodsWithPDBViolation in
 * plugins/defaultpreemption.
 */
export class Budgets {
  readonly #budgets: { budget: PodDisruptionBudget; selector: LabelSelector }[]

  constructor(budgets: Iterable<PodDisruptionBudget>) {
    this.#budgets = [...budgets].flatMap((budget) => {
      const selector = selectorOf(budget)
      return selector ? [{ budget, selector }] : []
    })
  }

  /** Splits pods, which end in this order, into those whose end violates a budget and the others. */
  split(pods: readonly PodInfo[]): { violating: PodInfo[]; allowed: PodInfo[] } {
    const left = this.#budgets.map(({ budget }) => budget.status?.disruptionsAllowed ?? 0)
    const split = { violating: [] as PodInfo[], allowed: [] as PodInfo[] }
    for (const info of pods) {
      const { namespace, name = '', labels = {} } = info.pod.metadata
      let isViolated = false
      for (const [i, { budget, selector }] of this.#budgets.entries()) {
        // Upstream: no budget is about a pod without labels, whatever its selector.
        if (budget.metadata.namespace !== namespace || isEmpty(labels) || !matchesLabels(selector, labels)) continue
        // The budget's status counts the pod as evicted already.
        if (Object.hasOwn(budget.status?.disruptedPods ?? {}, name)) continue
        left[i]! -= 1
        isViolated ||= left[i]! < 0
      }
      split[isViolated ? 'violating' : 'allowed'].push(info)
    }
    return split
  }
}

const isEmpty = (labels: object): boolean => Object.keys(labels).length === 0

/** Returns undefined for a budget that no pod is under: its selector is empty or invalid. */
function selectorOf({ spec }: PodDisruptionBudget): LabelSelector | undefined {
  try {
    const selector = fromSelectorObject(spec?.selector)
    return selector?.length ? selector : undefined
  } catch {
    return undefined
  }
}
