/**
 * Counts what the evaluation that is running may still cost, in upstream's units. Every step charges before it works,
 * so that an evaluation ends before it has made more than it may. An evaluation is synchronous; one that runs inside
 * another, as a policy's variable does, has a limit of its own.
 */
import { defaultWorkLimits } from '../work-limits.ts'
import { CelCancelled } from './errors.ts'

let left = 0

/** Throws {@link CelCancelled} when the evaluation has reached its limit. */
export function charge(units: number): void {
  left -= units
  if (!(left >= 0)) throw new CelCancelled()
}

/** The cost of an error that does not end the evaluation. Upstream forgives it for nothing. */
const FORGIVEN = 5
/** Charges for an error that an item, an operand or a parser has thrown; throws one that ends the evaluation. */
export function forgive(error: unknown): void {
  if (error instanceof CelCancelled) throw error
  charge(FORGIVEN)
}

/** A Budget limits the cost of each of several evaluations, and their total cost. */
export class Budget {
  /** Limits the cost of one evaluation. */
  readonly perCall: number
  #left: number
  private constructor(perCall: number, units: number) {
    this.perCall = perCall
    this.#left = units
  }
  /**
   * Returns the budget for one custom resource, or for one policy with one request and one set of params: upstream's
   * RuntimeCELCostBudget.
   */
  static forObject(perCall: number): Budget {
    return new Budget(perCall, 10 * perCall)
  }
  /** Returns the budget for match conditions: upstream's RuntimeCELCostBudgetMatchConditions. */
  static forConditions(perCall: number): Budget {
    return new Budget(perCall, 2.5 * perCall)
  }
  spend(units: number): void {
    this.#left -= Math.floor(units)
  }
  /** Ends it, whatever is left. */
  exhaust(): void {
    this.#left = -1
  }
  /** True if nothing is left for another evaluation. */
  get isEmpty(): boolean {
    return this.#left <= 0
  }
  /** True if more was spent than the limit allows. */
  get isExceeded(): boolean {
    return this.#left < 0
  }
}

export const OUT_OF_BUDGET =
  'validation failed due to running out of cost budget, no further validation rules will be run'

/**
 * Runs an evaluation within the limit of one; the budget pays for it, also when it fails.
 * Its errors have no stack: one costs more than anything else that a loop over failing items does.
 */
export function metered<T>(budget: Budget | undefined, evaluate: () => T): T {
  const outer = left
  const limit = budget?.perCall ?? defaultWorkLimits.celSteps
  const frames = Error.stackTraceLimit
  left = limit
  Error.stackTraceLimit = 0
  try {
    return evaluate()
  } finally {
    budget?.spend(Math.max(0, limit - left))
    left = outer
    Error.stackTraceLimit = frames
  }
}
