import { connect, type Socket } from 'node:net'
import type { Clock, Timer } from '../../../shared/clock/clock.ts'
import type { StorageUnavailableError } from '../engine.ts'
import { type Frame, FrameReader, FrameWriter } from './frames.ts'

export interface LinkOptions {
  path: string
  clock: Clock
  /** Runs for each new connection: asks for what the member does not have. */
  onOpen(write: (frame: readonly Buffer[]) => void): void
  onFrame(frame: Frame): void
  /** Runs when a connection has ended or none could be made. */
  onClose(why: string): void
}

/** The pauses before an attempt to connect. All callers that wait share one attempt. */
const pausesMs = [0, 50, 200, 500, 1000]
/** The holder answers the hello within this time, or another connection is tried. */
const answerMs = 60_000

/** Connects a member to the holder of the store. A connection that ends is made again, ever more slowly. */
export class Link {
  readonly #options: LinkOptions
  #socket: Socket | undefined
  #writer: FrameWriter | undefined
  #ready = Promise.withResolvers<void>()
  #isReady = false
  #failures = 0
  #isClosed = false
  #timer: Timer | undefined

  constructor(options: LinkOptions) {
    this.#options = options
    this.#ready.promise.catch(() => {})
    this.#connect()
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** Resolves when writes can be sent. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** The holder has told all that was missing. */
  isCaughtUp(): void {
    this.#timer?.cancel()
    this.#failures = 0
    this.#isReady = true
    this.#ready.resolve()
  }

  get unsentBytes(): number {
    return this.#writer?.unsentBytes ?? 0
  }

  write(frame: readonly Buffer[]): void {
    this.#writer?.write(frame)
  }

  /** Makes a new connection: this one does not answer. */
  renew(): void {
    this.#socket?.destroy()
  }

  close(error: StorageUnavailableError): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#ready.reject(error)
    this.#socket?.destroy()
  }

  #connect(): void {
    const { path, clock, onOpen, onFrame } = this.#options
    const reader = new FrameReader()
    const socket = connect(path)
    let why = 'the connection has ended'
    this.#socket = socket
    this.#timer = clock.setTimer(answerMs, () => socket.destroy(), { background: true })
    socket.on('connect', () => {
      const writer = new FrameWriter(socket)
      this.#writer = writer
      onOpen((frame) => writer.write(frame))
    })
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const frame of reader.read(chunk)) onFrame(frame)
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    socket.on('error', ({ message }) => {
      why = message
    })
    socket.on('close', () => this.#ended(why))
  }

  #ended(why: string): void {
    this.#timer?.cancel()
    this.#writer = undefined
    if (this.#isReady) {
      this.#isReady = false
      this.#ready = Promise.withResolvers()
      this.#ready.promise.catch(() => {})
    }
    if (this.#isClosed) return
    this.#options.onClose(why)
    const pause = pausesMs[Math.min(this.#failures++, pausesMs.length - 1)]!
    this.#timer = this.#options.clock.setTimer(pause, () => this.#connect(), { background: true })
  }
}
