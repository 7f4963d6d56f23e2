import { StatusError } from '../../../shared/api/status/status-error.ts'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import { StorageUnavailableError } from '../engine.ts'
import { encodeFrame, frameTypes } from './frames.ts'

interface Asked {
  resolve(answer: unknown): void
  reject(error: Error): void
  timer: Timer
}

type AskHead = [id: number, question: unknown]
type AnswerHead = [id: number, answer: unknown, error?: Pick<StatusError, 'status' | 'headers'> | string]

const patienceMs = 10_000
/** Bounds the questions of one side that have no answer yet. */
const maxAsked = 10_000

/** Questions and answers between two servers, over the connection that feeds one of them. Both sides may ask. */
export class Dialogue {
  readonly #write: (frame: readonly Buffer[]) => void
  readonly #clock: Clock
  readonly #asked = new Map<number, Asked>()
  #lastId = 0

  constructor(write: (frame: readonly Buffer[]) => void, clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  /** Rejects with what the other side throws, and with a StorageUnavailableError if it does not answer. */
  ask(question: unknown, timeoutMs = patienceMs): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (this.#asked.size >= maxAsked)
      return Promise.reject(new StorageUnavailableError('another API server does not answer; try again'))
    const id = ++this.#lastId
    const giveUp = (): void => {
      this.#asked.delete(id)
      reject(new StorageUnavailableError(`another API server does not answer within ${timeoutMs / 1000} s; try again`))
    }
    const timer = this.#clock.setTimer(timeoutMs, giveUp, { background: true })
    this.#asked.set(id, { resolve, reject, timer })
    this.#write(encodeFrame(frameTypes.ask, [id, question]))
    return promise
  }

  async answer([id, question]: AskHead, answerOf: (question: unknown) => unknown): Promise<void> {
    try {
      this.#write(encodeFrame(frameTypes.answer, [id, (await answerOf(question)) ?? null]))
    } catch (error) {
      const { status, headers } = error as StatusError
      const words = error instanceof StatusError ? { status, headers } : (error as Error).message
      this.#write(encodeFrame(frameTypes.answer, [id, null, words]))
    }
  }

  settle([id, answer, error]: AnswerHead): void {
    const asked = this.#asked.get(id)
    if (!asked) return
    this.#asked.delete(id)
    asked.timer.cancel()
    if (error === undefined) asked.resolve(answer)
    else if (typeof error === 'string') asked.reject(new Error(error))
    else asked.reject(new StatusError(error.status as ConstructorParameters<typeof StatusError>[0], error.headers))
  }

  /** The connection has ended. */
  close(): void {
    for (const { reject, timer } of this.#asked.values()) {
      timer.cancel()
      reject(new StorageUnavailableError('the connection to another API server was lost; try again'))
    }
    this.#asked.clear()
  }
}

export type { AnswerHead, AskHead }
