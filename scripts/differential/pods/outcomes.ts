/** Keeps outcomes in a file, one a line, so that a run can go on where the one before ended. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Outcome } from './outcome.ts'

export class Outcomes {
  readonly #file: string | undefined
  readonly #known = new Map<string, Outcome>()

  constructor(file: string | undefined) {
    this.#file = file
    if (!file || !existsSync(file)) return
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
      const outcome = JSON.parse(line) as Outcome
      this.#known.set(outcome.name, outcome)
    }
  }

  get(name: string): Outcome | undefined {
    return this.#known.get(name)
  }

  set(outcome: Outcome): void {
    this.#known.set(outcome.name, outcome)
  }

  all(): Outcome[] {
    return [...this.#known.values()]
  }

  save(): void {
    if (this.#file)
      writeFileSync(
        this.#file,
        this.all()
          .map((outcome) => `${JSON.stringify(outcome)}\n`)
          .join(''),
      )
  }
}
