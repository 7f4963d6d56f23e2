import type { Clock } from '../../shared/clock/clock.ts'
import { request } from '../../shared/http/node-http.ts'
import type { LossKind } from '../../shared/record/format.ts'

/** Holds the result of one request. Times are in milliseconds of the same clock. */
export interface Sample {
  startMs: number
  endMs: number
  /** `lost`: the request reached no process, or was answered with a 5xx; `cut`: it failed after a process had it. */
  outcome: 'answered' | 'lost' | 'cut'
  /** Present if the request was lost or cut. */
  kind?: LossKind
}

export interface LoadRequest {
  url: URL
  headers?: Readonly<Record<string, string>>
  /** Limits the whole answer, in milliseconds of the machine. */
  timeoutMs: number
}

/** Says how far a request came. */
type Stage = 'connecting' | 'sent' | 'answering'

/** Errors that say that this machine could send no request. */
const ownErrors = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM', 'EAGAIN'])

/** Sends a GET on a connection of its own. Resolves to nothing if this machine could not send it. */
export function send({ url, headers, timeoutMs }: LoadRequest, clock: Clock): Promise<Sample | undefined> {
  const startMs = clock.now()
  return new Promise((resolve) => {
    let stage: Stage = 'connecting'
    let isLate = false
    const end = (sample: Sample | undefined): void => {
      timer.cancel()
      resolve(sample)
    }
    const sampleOf = (kind?: LossKind): Sample => {
      return { startMs, endMs: clock.now(), outcome: outcomeOf(stage, kind), ...(kind && { kind }) }
    }
    const fail = ({ code = '' }: NodeJS.ErrnoException | { code?: string } = {}): void =>
      end(ownErrors.has(code) ? undefined : sampleOf(isLate ? 'timeout' : kindOf(stage, code)))
    const outgoing = request(url, { agent: false, headers }, (answer) => {
      stage = 'answering'
      answer.on('error', fail)
      answer.on('close', () => {
        if (answer.complete) end(sampleOf((answer.statusCode ?? 0) >= 500 ? '5xx' : undefined))
        else fail()
      })
      answer.resume()
    })
    const timer = clock.machine.setTimer(timeoutMs, () => {
      isLate = true
      outgoing.destroy()
    })
    outgoing.on('socket', (socket) => socket.once('connect', () => (stage = 'sent')))
    outgoing.on('error', fail)
    outgoing.end()
  })
}

function kindOf(stage: Stage, code: string): LossKind {
  if (stage === 'connecting') return code === 'ECONNREFUSED' ? 'refused' : 'unreachable'
  if (code.startsWith('HPE_')) return 'invalid'
  return stage === 'sent' ? 'reset' : 'cut'
}

/** A program that accepted the connection got the request, unless it answered that it cannot serve. */
function outcomeOf(stage: Stage, kind: LossKind | undefined): Sample['outcome'] {
  if (kind === undefined) return 'answered'
  return stage === 'connecting' || kind === '5xx' ? 'lost' : 'cut'
}
