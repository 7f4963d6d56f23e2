type Step = () => void | Promise<void>

/**
 * Keeps steps that undo what was done, and runs them in reverse order. `await using` runs the steps that were not moved
 * elsewhere. It corresponds to AsyncDisposableStack, which Node 22 lacks: every step runs even if others fail; then the
 * first error is thrown.
 */
export class Undo implements AsyncDisposable {
  #steps: Step[] = []

  defer(step: Step): void {
    this.#steps.push(step)
  }

  /** Returns the steps as a new object. The block that collected them no longer undoes them. */
  move(): Undo {
    const moved = new Undo()
    moved.#steps = this.#steps
    this.#steps = []
    return moved
  }

  /** A second time there is nothing left to do. */
  async run(): Promise<void> {
    const steps = this.#steps
    this.#steps = []
    const errors: unknown[] = []
    for (const step of steps.reverse()) {
      try {
        await step()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length) throw errors[0]
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.run()
  }
}
