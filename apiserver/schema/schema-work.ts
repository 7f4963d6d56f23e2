import { forbidden } from '../validation/field-error.ts'
import type { FieldError } from '../validation/field-errors.ts'
import type { WorkLimits } from '../work-limits.ts'
import { NO_FIELD } from './field-error.ts'
import { patternCost, patternWeight } from './re2.ts'

/** An error that is told costs as much as so many checks. */
export const stepsPerError = 100
const stepsPerMatch = 4
/** The costs of patterns are in CEL's units, of which a check takes so many. */
const unitsPerStep = 3

/** Thrown where no step is left, and caught by {@link SchemaWork.endsIn}. */
class Exhausted extends Error {}

/**
 * Limits the steps that validating the values of one request against a schema may take. Clients choose both values and
 * schema, and the limits of each do not bound their product: a list of 10,000 items with 2,000 alternatives makes 20
 * million checks.
 */
export class SchemaWork {
  /** The server's limits, of which `schemaSteps` is that of the steps. */
  readonly limits: WorkLimits
  #left: number

  constructor(limits: WorkLimits) {
    this.limits = limits
    this.#left = limits.schemaSteps
  }

  get isSpent(): boolean {
    return this.#left < 0
  }

  /** Throws if fewer than `steps` are left. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new Exhausted()
  }

  /** Spends the steps of a match; must be called before it. */
  spendMatch(pattern: string, text: string): void {
    this.spendPattern(pattern)
    this.spend(stepsPerMatch + patternCost(pattern, text.length) / unitsPerStep)
  }

  /** Spends the steps of compiling a pattern, if it is not compiled yet. */
  spendPattern(pattern: string): void {
    this.spend(patternWeight(pattern) / unitsPerStep)
  }

  /** Spends a step for a value and for each value inside of it. */
  spendNodes(value: unknown): void {
    this.spend(1)
    if (typeof value !== 'object' || value === null) return
    for (const part of Object.values(value)) this.spendNodes(part)
  }

  /** Runs the work, and returns whether it ended because no steps were left. Other errors are thrown. */
  endsIn(work: () => void): boolean {
    try {
      work()
      return false
    } catch (error) {
      if (error instanceof Exhausted) return true
      throw error
    }
  }

  /** Returns the error for a value that was not checked to its end. */
  error(path: string): FieldError {
    return {
      ...forbidden(
        path || NO_FIELD,
        `checking the object against its schema took more than ${this.limits.schemaSteps} steps and was stopped; write fewer values, or give the schema fewer alternatives, patterns and required fields`,
      ),
      limit: 'maxSchemaSteps',
    }
  }
}
