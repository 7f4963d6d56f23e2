import type { RecordLine } from '../../shared/record/format.ts'
import { LineReader } from './lines.ts'

export interface SourceState {
  kind: 'connecting' | 'live' | 'ended' | 'lost' | 'signed-out'
  text: string
  /** The lines come from a file, so no cluster can be asked. */
  isFile?: boolean
  /** The link of the page allows actions. */
  mayAct?: boolean
}

interface Listener {
  lines(lines: Iterable<RecordLine>): void
  state(state: SourceState): void
}

const retryMs = { first: 500, most: 10_000 }

/**
 * Reads `./stream` until the page closes: when the stream ends, it is read again, and a gap is marked. The stream of a
 * file is read once.
 */
export async function readStream(url: string, { lines, state }: Listener): Promise<void> {
  let waitMs = retryMs.first
  let wasOpen = false
  for (;;) {
    if (!wasOpen) state({ kind: 'connecting', text: 'Connecting …' })
    const answer = await fetch(url, { credentials: 'same-origin', cache: 'no-store' }).catch(() => undefined)
    if (answer?.status === 401 || answer?.status === 403)
      return state({ kind: 'signed-out', text: 'This session has ended. Run "kubestage ui" for a new link.' })
    if (answer?.ok && answer.body) {
      waitMs = retryMs.first
      const isFile = answer.headers.get('x-kubestage-source') === 'file'
      const mayAct = answer.headers.get('x-kubestage-actions') === 'allowed'
      state({ kind: 'live', text: isFile ? 'Reading the record …' : 'Live', mayAct, isFile })
      const end = await readAll(answer.body, lines)
      if (isFile && end === 'cut') return state({ kind: 'lost', text: cutOff })
      if (isFile && end === 'whole') return state({ kind: 'ended', text: 'A record, read to its end' })
      wasOpen = true
    }
    const why =
      answer && !answer.ok ? `The server answered ${answer.status}` : 'The server does not answer, or was restarted'
    state({ kind: 'lost', text: `${why}. What you see may be old; trying again …` })
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    waitMs = Math.min(waitMs * 2, retryMs.most)
  }
}

export const cutOff = 'This record was cut off: its last line is not whole, and what follows is missing'

/** `broken`: the connection failed. `cut`: the record ends within a line. */
async function readAll(
  body: ReadableStream<Uint8Array>,
  lines: Listener['lines'],
): Promise<'whole' | 'cut' | 'broken'> {
  const reader = new LineReader()
  const text = new TextDecoder()
  const stream = body.getReader()
  try {
    for (;;) {
      const { value, done } = await stream.read()
      if (done) break
      lines(reader.push(text.decode(value, { stream: true })))
    }
    lines(reader.end())
    return reader.isCut ? 'cut' : 'whole'
  } catch {
    return 'broken'
  }
}
