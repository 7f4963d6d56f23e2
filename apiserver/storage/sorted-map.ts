/** Keys per chunk before it is split: an insertion moves at most so many. */
const chunkLimit = 512

/**
 * A map whose keys stand in byte order, so that prefixes are ranges. Lookup is a hash; an insertion is a binary search
 * and a short move within one chunk, also with a million keys; scanning gives values without copying keys.
 */
export class SortedMap<Value extends { readonly key: string }> {
  readonly #values = new Map<string, Value>()
  #chunks: Value[][] = [[]]
  /** The chunk that was written to last: keys of one namespace come together. */
  #last = 0

  get size(): number {
    return this.#values.size
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(value: Value): void {
    const known = this.#values.has(value.key)
    this.#values.set(value.key, value)
    const chunkIndex = this.#isInLast(value.key) ? this.#last : this.#chunkOf(value.key)
    this.#last = chunkIndex
    const chunk = this.#chunks[chunkIndex]!
    const index = lowerBound(chunk, value.key)
    if (known) {
      chunk[index] = value
      return
    }
    chunk.splice(index, 0, value)
    if (chunk.length > chunkLimit) this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(chunkLimit >> 1))
  }

  delete(key: string): boolean {
    if (!this.#values.delete(key)) return false
    const chunkIndex = this.#chunkOf(key)
    const chunk = this.#chunks[chunkIndex]!
    chunk.splice(lowerBound(chunk, key), 1)
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(chunkIndex, 1)
    return true
  }

  clear(): void {
    this.#values.clear()
    this.#chunks = [[]]
  }

  /**
   * The first `limit` values whose keys begin with `prefix`, in order, beginning after `startAfter` (exclusive). A copy:
   * later changes do not show.
   */
  range(prefix: string, startAfter?: string, limit = Number.POSITIVE_INFINITY): Value[] {
    const found: Value[] = []
    const first = startAfter !== undefined && startAfter >= prefix ? `${startAfter}\0` : prefix
    const end = endOf(prefix)
    let index: number | undefined
    for (let chunkIndex = this.#chunkOf(first); chunkIndex < this.#chunks.length; chunkIndex++) {
      const chunk = this.#chunks[chunkIndex]!
      index = index === undefined ? lowerBound(chunk, first) : 0
      const isLast = end !== undefined && (chunk.at(-1)?.key ?? end) >= end
      const to = Math.min(isLast ? lowerBound(chunk, end) : chunk.length, index + limit - found.length)
      for (; index < to; index++) found.push(chunk[index]!)
      if (isLast || found.length === limit) break
    }
    return found
  }

  /** Counts the values whose keys begin with `prefix` and come after `startAfter`, which has this prefix. */
  count(prefix: string, startAfter: string): number {
    const end = endOf(prefix)
    return (end === undefined ? this.size : this.#below(end)) - this.#below(`${startAfter}\0`)
  }

  #below(key: string): number {
    const chunkIndex = this.#chunkOf(key)
    let count = lowerBound(this.#chunks[chunkIndex]!, key)
    for (let index = 0; index < chunkIndex; index++) count += this.#chunks[index]!.length
    return count
  }

  #isInLast(key: string): boolean {
    const [first] = this.#chunks[this.#last] ?? []
    if (!first || first.key > key) return false
    const [next] = this.#chunks[this.#last + 1] ?? []
    return !next || key < next.key
  }

  /** The chunk in which `key` is, or would be. */
  #chunkOf(key: string): number {
    const chunks = this.#chunks
    let low = 0
    let high = chunks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (chunks[middle]![0]!.key <= key) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** The first text after all that begin with `prefix`; undefined for the empty prefix. */
const endOf = (prefix: string): string | undefined =>
  prefix === '' ? undefined : prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)

/** Index of the first value whose key is not below `key`. */
function lowerBound(chunk: readonly { readonly key: string }[], key: string): number {
  let low = 0
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (chunk[middle]!.key < key) low = middle + 1
    else high = middle
  }
  return low
}
