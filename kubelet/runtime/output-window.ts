/** Keeps the first and the last bytes of what comes, and counts the rest: bounded, whatever a command prints. */
export class OutputWindow {
  readonly #half: number
  readonly #head: Buffer[] = []
  #headSize = 0
  #tail: Buffer = Buffer.alloc(0)
  #dropped = 0

  constructor(maxBytes: number) {
    this.#half = Math.ceil(maxBytes / 2)
  }

  add(data: Buffer): void {
    const room = this.#half - this.#headSize
    const first = data.subarray(0, Math.max(0, room))
    if (first.length > 0) {
      this.#head.push(Buffer.from(first))
      this.#headSize += first.length
    }
    const rest = data.subarray(first.length)
    if (rest.length === 0) return
    const tail = Buffer.concat([this.#tail, rest])
    this.#dropped += Math.max(0, tail.length - this.#half)
    this.#tail = tail.subarray(-this.#half)
  }

  toString(): string {
    const gap = this.#dropped > 0 ? [Buffer.from(`\n… ${this.#dropped} bytes left out …\n`)] : []
    return Buffer.concat([...this.#head, ...gap, this.#tail]).toString()
  }
}
