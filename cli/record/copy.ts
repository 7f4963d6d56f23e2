import type { IncomingMessage } from 'node:http'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { RecordHeader } from '../../shared/record/format.ts'
import type { RecordWriter } from '../../shared/record/writer.ts'
import { openAnswer } from '../access/ask-server.ts'

const newline = 0x0a
const retryMs = 500

interface Copying {
  access: ClusterAccess
  title: string
  /** Names the program that writes. */
  by: string
  clock: Clock
  signal: AbortSignal
  /** Opens the record, once the server has answered. */
  open(): Promise<RecordWriter>
  say(line: string): void
}

interface Count {
  lines: number
  gaps: number
}

/**
 * Copies the record of a server until the signal aborts. If the server ends, the copy retries until a server answers,
 * and the record then has a gap. Rejects if the first request fails, or if a server refuses a later one.
 */
export async function copyRecord(options: Copying): Promise<Count> {
  const { access, title, clock, signal, say } = options
  const path = `/kubestage/v1/record?watch=true&title=${encodeURIComponent(title)}`
  const count: Count = { lines: 0, gaps: 0 }
  let writer: RecordWriter | undefined
  let isAway = false
  while (!signal.aborted) {
    const answer = await openAnswer(access, { path }).catch((error: Error) => {
      // A request that was refused would be refused again.
      if (!writer || !/cannot be reached/.test(error.message)) throw error
      return undefined
    })
    if (answer) {
      writer ??= await options.open()
      if (!writer.isNew) gap(writer, count, options)
      if (isAway) say(`${access.server} answers again`)
      isAway = false
      await copyAnswer(answer, writer, { ...options, count })
    }
    if (signal.aborted) break
    if (!isAway) say(`${access.server} does not answer; the record continues when it does`)
    isAway = true
    await clock.sleep(retryMs, { signal }).catch(() => {})
  }
  return count
}

function gap(writer: RecordWriter, count: Count, { clock }: Copying): void {
  const message = 'the writer of this record was not connected'
  writer.line({ type: 'GAP', at: new Date(clock.now()).toISOString(), message })
  count.lines++
  count.gaps++
}

/** Copies whole lines alone, and leaves out the header of a record that is continued. */
async function copyAnswer(
  answer: IncomingMessage,
  writer: RecordWriter,
  { signal, by, count }: Copying & { count: Count },
): Promise<void> {
  const end = (): void => void answer.destroy()
  signal.addEventListener('abort', end, { once: true })
  let rest: Buffer[] = []
  let isFirst = true
  try {
    for await (const chunk of connected(answer)) {
      const last = chunk.lastIndexOf(newline) + 1
      if (last === 0) {
        rest.push(chunk)
        continue
      }
      let lines: Buffer = Buffer.concat([...rest, chunk.subarray(0, last)])
      rest = [chunk.subarray(last)]
      if (isFirst) lines = withoutHeader(lines, { writer, by, count })
      isFirst = false
      writer.lines(lines)
      count.lines += occurrences(lines, '\n')
      count.gaps += occurrences(lines, '{"type":"GAP"')
    }
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Ends when the connection breaks. */
async function* connected(answer: IncomingMessage): AsyncGenerator<Buffer> {
  const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  for (;;) {
    const next = await chunks.next().catch(() => undefined)
    if (!next || next.done) return
    yield next.value
  }
}

/** A new record gets it, with the name of this program. */
function withoutHeader(
  lines: Buffer,
  { writer, by, count }: { writer: RecordWriter; by: string; count: Count },
): Buffer {
  const end = lines.indexOf(newline)
  if (writer.isNew) {
    writer.line({ ...(JSON.parse(lines.toString('utf8', 0, end)) as RecordHeader), writer: by })
    count.lines++
  }
  return lines.subarray(end + 1)
}

function occurrences(bytes: Buffer, text: string): number {
  let count = 0
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + text.length)) count++
  return count
}
