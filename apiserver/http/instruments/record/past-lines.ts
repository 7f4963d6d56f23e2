import type { RecordLine } from '../../../../shared/record/format.ts'
import { headOf } from '../../encode/object-encoder.ts'
import { changeLine } from './record-encoder.ts'
import type { History } from './record-history.ts'

/** Holds what a reader receives about the time before it connected. */
export interface Past {
  history: History
  /** Requests, and lines of clients, in the order of their times. */
  lines: readonly RecordLine[]
  /** When the past begins. */
  startMs: number
}

/** About how much is written before back-pressure is looked at. */
const chunkLength = 64 * 1024

/** The state at the beginning, SYNCED, and what happened since then in the order of its times. */
export function* pastChunks(history: History, lines: readonly RecordLine[], startMs: number): Generator<Buffer> {
  let text = ''
  for (const line of pastLines(history, lines, startMs)) {
    text += line
    if (text.length < chunkLength) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

function* pastLines({ states, changes }: History, lines: readonly RecordLine[], startMs: number): Generator<string> {
  const start = new Date(startMs).toISOString()
  for (const { definition, items } of states) {
    const head = headOf(definition)
    for (const object of items) yield changeLine(head, { type: 'ADDED', object, revision: object.revision }, start)
  }
  yield `${JSON.stringify({ type: 'SYNCED', at: start })}\n`
  let next = 0
  for (const { definition, record, atMs } of changes) {
    const at = new Date(atMs).toISOString()
    while (next < lines.length && lines[next]!.at <= at) yield `${JSON.stringify(lines[next++])}\n`
    yield changeLine(headOf(definition), record, at)
  }
  for (; next < lines.length; next++) yield `${JSON.stringify(lines[next])}\n`
}
