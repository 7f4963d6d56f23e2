/**
 * The seats and the queue of one priority level limit how many of its requests run and how many wait; waiting flows
 * take turns.
 */
export class Seats {
  readonly #seats: number
  /** Limits how many requests wait; with 0 a request without a seat is refused. */
  readonly #places: number
  readonly #waiting = new Map<string, ((seated: boolean) => void)[]>()
  #waitingCount = 0
  taken = 0

  constructor({ seats, places }: { seats: number; places: number }) {
    this.#seats = seats
    this.#places = places
  }

  get waiting(): number {
    return this.#waitingCount
  }

  /** Takes a seat. Returns false if none was free at once. */
  take(): boolean {
    if (this.taken >= this.#seats) return false
    this.taken++
    return true
  }

  /** Queues a request; undefined if the queue is full. `waits` resolves to whether it got a seat; `leave` gives up. */
  queue(flow: string): { waits: Promise<boolean>; leave(): void } | undefined {
    if (this.#waitingCount >= this.#places) return undefined
    this.#waitingCount++
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const line = this.#waiting.get(flow) ?? []
    line.push(resolve)
    this.#waiting.set(flow, line)
    return {
      waits: promise,
      leave: () => {
        const index = line.indexOf(resolve)
        if (index < 0) return
        line.splice(index, 1)
        this.#forget(flow, line)
        resolve(false)
      },
    }
  }

  /** The seat goes to the flow that has waited since the longest for its turn. */
  release(): void {
    const [next] = this.#waiting
    if (!next) {
      this.taken--
      return
    }
    const [flow, line] = next
    const seat = line.shift()
    this.#forget(flow, line)
    if (line.length > 0) {
      this.#waiting.delete(flow)
      this.#waiting.set(flow, line)
    }
    seat?.(true)
  }

  #forget(flow: string, line: unknown[]): void {
    this.#waitingCount--
    if (line.length === 0) this.#waiting.delete(flow)
  }
}
