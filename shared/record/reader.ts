import { type RecordLine, recordFormat, recordVersion } from './format.ts'

const newline = 0x0a
/** An object of Kubernetes has at most a few megabytes. */
const maxLineBytes = 32 * 1024 * 1024

/** A file that cannot be read as a record; `message` says why, and what to do. */
export class RecordError extends Error {
  override readonly name = 'RecordError'
}

export interface ReadOptions {
  /** Names the record in messages: a file's name. Default: `this`. */
  name?: string
  maxLineBytes?: number
  /** Runs at the end of a record whose last line is not whole. */
  onCut?(): void
}

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/**
 * The lines of a record, in memory that does not grow with it. A last line without an end is left out, since its
 * writer was cut off; so are lines that are no objects, or longer than `maxLineBytes`. Types that are not known are
 * given as they are: readers ignore them. Throws a {@link RecordError} for what is no record, or of a newer version.
 */
export async function* readRecord(
  chunks: Chunks,
  { name = 'this', maxLineBytes: max = maxLineBytes, onCut }: ReadOptions = {},
): AsyncGenerator<RecordLine> {
  let isFirst = true
  for await (const bytes of recordLines(chunks, max, onCut)) {
    const line = bytes && parse(bytes)
    if (isFirst) checkHeader(line, name)
    isFirst = false
    if (line) yield line as unknown as RecordLine
  }
  if (isFirst) throw new RecordError(`${name} is not a valid record: it has no complete line`)
}

/** Yields undefined for a line that is too long. */
async function* recordLines(chunks: Chunks, max: number, onCut?: () => void): AsyncGenerator<Uint8Array | undefined> {
  let parts: Uint8Array[] = []
  let length = 0
  let isFirst = true
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const rest = chunk.subarray(start, end)
      length += rest.length
      yield length > max ? undefined : joined(parts, rest)
      parts = []
      length = 0
      isFirst = false
      start = end + 1
    }
    const rest = chunk.subarray(start)
    length += rest.length
    if (length > max && isFirst) return yield undefined // it may have no end
    if (length > max) parts = []
    else if (rest.length > 0) parts.push(rest)
  }
  if (length > 0) onCut?.()
}

function joined(parts: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  if (parts.length === 0) return last
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, last.length))
  let at = 0
  for (const part of [...parts, last]) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const decoder = new TextDecoder()

function parse(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes))
    const isLine = typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
    return isLine ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function checkHeader(line: Record<string, unknown> | undefined, name: string): void {
  if (line?.type !== 'HEADER' || line.format !== recordFormat)
    throw new RecordError(`${name} is not a record of Kubestage: kubestage record FILE writes one`)
  const { version } = line
  if (Number.isSafeInteger(version) && Number(version) >= 1 && Number(version) <= recordVersion) return
  throw new RecordError(
    `${name} is a record of version ${String(version).slice(0, 40)}, and this Kubestage reads version ${recordVersion}: use the Kubestage that wrote it, or a newer one`,
  )
}
