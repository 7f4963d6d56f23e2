import { objectKey } from '../../registry/index.ts'
import type { Storage, StorageWatch } from '../../storage/engine.ts'
import { PortBitmap } from './port-bitmap.ts'

/** Upstream's default of --service-node-port-range. */
const range = { first: 30_000, last: 32_767 }
const key = objectKey({ group: '', plural: 'ranges' }, undefined, 'servicenodeports')

interface Wish {
  ports: readonly number[]
  isTaken: boolean
  answer(isDone: boolean): void
  fail(error: unknown): void
}

/**
 * Claims node ports in one object, which all servers write with a check of its revision. Claims that arrive while a
 * write is under way share the next write. Upstream: pkg/registry/core/service/allocator/storage.
 */
export class PortClaims {
  readonly #storage: Storage
  readonly #monotonicMs: () => number
  readonly #watch: StorageWatch
  #taken = new PortBitmap(range)
  /** Maps each port to the time since which it is taken without a break. */
  readonly #since = new Map<number, number>()
  #wishes: Wish[] = []
  #isWriting = false

  constructor(storage: Storage, monotonicMs: () => number) {
    this.#storage = storage
    this.#monotonicMs = monotonicMs
    this.#watch = storage.watch({
      prefix: key,
      onEvents: (events) => {
        for (const { value } of events) this.#learn(value)
      },
      onGap: () => this.#since.clear(),
    })
  }

  async load(): Promise<void> {
    this.#learn((await this.#storage.get(key))?.value)
  }

  taken(): PortBitmap {
    return this.#taken
  }

  /** Returns for how many milliseconds at least a port has been taken; 0 for a free port. */
  takenMs(port: number): number {
    return this.#monotonicMs() - (this.#since.get(port) ?? Number.POSITIVE_INFINITY)
  }

  /** Takes all ports or none. Rejects if it is not known whether they were taken. */
  take(ports: readonly number[]): Promise<boolean> {
    return this.#wish(ports, true)
  }

  async give(ports: readonly number[]): Promise<void> {
    await this.#wish(ports, false)
  }

  close(): void {
    this.#watch.close()
  }

  #wish(ports: readonly number[], isTaken: boolean): Promise<boolean> {
    if (ports.length === 0) return Promise.resolve(true)
    return new Promise((answer, fail) => {
      this.#wishes.push({ ports, isTaken, answer, fail })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#wishes.length > 0) {
      const wishes = this.#wishes.splice(0)
      try {
        const lost = await this.#write(wishes)
        this.#wishes.unshift(...lost)
      } catch (error) {
        for (const { fail } of wishes) fail(error)
      }
    }
    this.#isWriting = false
  }

  /** Resolves to the wishes that are to be tried again, because another server has written. */
  async #write(wishes: Wish[]): Promise<Wish[]> {
    const entry = await this.#storage.get(key)
    const bitmap = this.#learn(entry?.value)
    const before = bitmap.toString()
    const granted: Wish[] = []
    for (const wish of wishes) {
      if (wish.isTaken && wish.ports.some((port) => bitmap.has(port))) {
        wish.answer(false)
        continue
      }
      for (const port of wish.ports) bitmap.set(port, wish.isTaken)
      granted.push(wish)
    }
    const data = bitmap.toString()
    if (data !== before) {
      const value = JSON.stringify({
        metadata: { name: 'servicenodeports' },
        range: `${range.first}-${range.last}`,
        data,
      })
      const { ok } = await this.#storage.put({ key, value, expect: entry?.revision ?? 'absent' })
      if (!ok) return granted
    }
    for (const { answer } of granted) answer(true)
    return []
  }

  /** Answers with a copy. */
  #learn(value: string | undefined): PortBitmap {
    const { data = '' } = value === undefined ? {} : (JSON.parse(value) as { data?: string })
    this.#taken = new PortBitmap(range, data)
    const now = this.#monotonicMs()
    for (const port of this.#since.keys()) if (!this.#taken.has(port)) this.#since.delete(port)
    for (const port of this.#taken) if (!this.#since.has(port)) this.#since.set(port, now)
    return new PortBitmap(range, data)
  }
}
