import type { RecordLine } from '../../shared/record/format.ts'
import { changeLine, type TextOf } from './record-encoder.ts'
import type { History } from './record-history.ts'

/** Holds what a reader receives about the time before it connected. */
export interface Past {
  history: History
  /** Requests, and lines of clients, in the order of their times. */
  lines: readonly RecordLine[]
  /** Tells when the past begins. */
  startMs: number
}

/** About how much is written before back-pressure is looked at. */
const chunkLength = 64 * 1024

/** The state at the beginning, SYNCED, and what happened since then in the order of its times. */
export function* pastChunks({ history, lines, startMs }: Past, textOf: TextOf): Generator<Buffer> {
  let text = ''
  for (const line of pastLines(history, lines, { start: new Date(startMs).toISOString(), textOf })) {
    text += line
    if (text.length < chunkLength) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

function* pastLines(
  { states, changes }: History,
  lines: readonly RecordLine[],
  { start, textOf }: { start: string; textOf: TextOf },
): Generator<string> {
  for (const { cache, items } of states) {
    const text = textOf(cache)
    for (const object of items) yield changeLine(text, { type: 'ADDED', object, revision: object.revision }, start)
  }
  yield `${JSON.stringify({ type: 'SYNCED', at: start })}\n`
  let next = 0
  for (const { cache, record, atMs } of changes) {
    const at = new Date(atMs).toISOString()
    while (next < lines.length && lines[next]!.at <= at) yield `${JSON.stringify(lines[next++])}\n`
    yield changeLine(textOf(cache), record, at)
  }
  for (; next < lines.length; next++) yield `${JSON.stringify(lines[next])}\n`
}
