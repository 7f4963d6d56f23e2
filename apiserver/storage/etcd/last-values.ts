import type { Draft, Message } from './messages.ts'

/**
 * An event of etcd says that a key is deleted, and not what was last said of it, such as why. A delete with last words
 * writes them to one key of all servers in the same transaction: each server that sees the delete sees them as well.
 */
export class LastValues {
  readonly key: string
  #known = new Map<string, string>()

  constructor(prefix: string) {
    this.key = `${prefix}kubestage.dev/last-value`
  }

  /** Returns the request that the transaction of the delete includes. */
  note(key: string, lastValue: string): Draft<'RequestOp'> {
    return { request_put: { key: this.key, value: JSON.stringify([key, lastValue]) } }
  }

  /** A write that says nothing, but is seen after all writes before it. */
  mark(): Draft<'RequestOp'> {
    return { request_put: { key: this.key, value: '[]' } }
  }

  /** All events of a revision come together, in any order. */
  learn(events: readonly Message<'Event'>[]): void {
    this.#known = new Map()
    for (const { type, kv } of events) {
      if (type !== 0 || kv?.key !== this.key) continue
      const [key, value] = JSON.parse(kv.value) as [string?, string?]
      if (key !== undefined && value !== undefined) this.#known.set(`${kv.mod_revision} ${key}`, value)
    }
  }

  of(key: string, revision: number): string | undefined {
    return this.#known.get(`${revision} ${key}`)
  }
}
