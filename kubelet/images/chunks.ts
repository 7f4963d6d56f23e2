import { BadImage } from './bad-image.ts'

export type Chunks = AsyncIterable<Uint8Array>

/** Reads the first `length` bytes, or fewer if there are no more; `all` begins with them again. */
export async function peek(chunks: Chunks, length: number): Promise<{ head: Buffer; all: Chunks }> {
  const iterator = chunks[Symbol.asyncIterator]()
  const first: Uint8Array[] = []
  let isDone = false
  for (let bytes = 0; bytes < length && !isDone; ) {
    const { value, done } = await iterator.next()
    isDone = done === true
    if (value) first.push(value)
    bytes += value?.length ?? 0
  }
  const head = Buffer.concat(first).subarray(0, length)
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* first
    if (!isDone) yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return { head, all: all() }
}

/** Hands the chunks on, each after `see`. */
export async function* seen(chunks: Chunks, see: (chunk: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    see(chunk)
    yield chunk
  }
}

/** Reads all of it. Throws {@link BadImage} for more than `most` bytes. */
export async function readAll(chunks: Chunks, most: number, what: string): Promise<Buffer> {
  const all: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > most) throw new BadImage(`${what} has more than ${most} bytes`)
    all.push(chunk)
  }
  return Buffer.concat(all)
}
