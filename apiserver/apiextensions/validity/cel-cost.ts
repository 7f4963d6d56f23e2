/** Limits of what the rules of a definition cost by estimate. Upstream: pkg/apis/apiextensions/validation. */
import { add } from '../../cel/cost/ranges.ts'
import { forbidden } from '../../validation/field-error.ts'
import type { FieldError } from '../../validation/field-errors.ts'

export const MAX_RULE_COST = 10_000_000
const MAX_TOTAL_COST = 100_000_000
const NAMED = 4

export function exceedsBudget(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

/** Sums the estimated cost of all expressions in a version's schema. */
export class TotalCost {
  #total = 0
  readonly #expensive: { field: string; cost: number }[] = []

  add(field: string, cost: number): void {
    this.#total = add(this.#total, cost)
    if (cost >= MAX_TOTAL_COST / 100) this.#expensive.push({ field, cost })
  }

  /** Names the most expensive expressions, if all together cost too much. */
  errors(path: string): FieldError[] {
    if (this.#total <= MAX_TOTAL_COST) return []
    const named = this.#expensive.sort((left, right) => right.cost - left.cost).slice(0, NAMED)
    return [
      ...named.map(({ field }) =>
        forbidden(field, 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'),
      ),
      forbidden(
        path,
        exceedsBudget(
          'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema',
          this.#total,
          MAX_TOTAL_COST,
        ),
      ),
    ]
  }
}
