import { hash } from 'node:crypto'
import type { UnchangedWrite } from '../../registry/writes/update-object.ts'
import type { CachedObject } from '../../watchcache/cached-object.ts'
import type { Exchange } from '../exchange.ts'

interface Outcome {
  /** A hash of user and request. */
  request: string
  warnings: readonly string[]
}

/** The last apply of each version of an object that changed nothing. */
const outcomes = new WeakMap<CachedObject, Outcome>()

/**
 * Controllers apply the same again and again. That an apply changes nothing depends on the object's version, the body,
 * the parameters and the user alone, so it is found out once: from then on nothing is parsed and merged for it.
 */
export class UnchangedApply implements UnchangedWrite {
  readonly #request: string
  readonly #warn: (text: string) => void
  #warnings: string[] = []

  constructor({ info: { path, query }, user, warnings }: Exchange, body: Buffer) {
    this.#request = `${path}?${query} ${user.name} ${hash('sha256', body, 'base64')}`
    this.#warn = warnings.add
  }

  /** Collects warnings of this apply. The next equal apply gets them again. */
  readonly warn = (text: string): void => {
    this.#warnings.push(text)
    this.#warn(text)
  }

  isKnown(current: CachedObject): boolean {
    return outcomes.get(current)?.request === this.#request
  }

  found(current: CachedObject): void {
    outcomes.set(current, { request: this.#request, warnings: this.#warnings })
  }

  repeated(current: CachedObject): void {
    for (const text of outcomes.get(current)?.warnings ?? []) this.#warn(text)
  }
}
