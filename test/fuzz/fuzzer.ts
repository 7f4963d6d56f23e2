import type { Random } from './random.ts'

export interface Target {
  /** One attempt; throws, or rejects, when a rule is broken. */
  attempt(random: Random): void | Promise<void>
  end?(): void | Promise<void>
}

export interface Fuzzer {
  name: string
  /** How many attempts CI makes. */
  attempts: number
  start(): Target | Promise<Target>
}
