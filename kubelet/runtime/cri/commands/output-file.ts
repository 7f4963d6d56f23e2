import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync } from 'node:fs'
import type { Clock, Timer } from '../../../../shared/clock/clock.ts'
import { OutputWindow } from '../../output-window.ts'

const lookMs = 500
const mostOnDisk = 1024 * 1024
const partBytes = 64 * 1024

/**
 * Collects what the runtime appends to a file. The file stays small, whatever a command prints: of what it prints in
 * the moment in which the file is emptied, a part may be lost.
 */
export class OutputFile {
  readonly #file: string
  readonly #window: OutputWindow
  readonly #clock: Clock
  readonly #descriptor: number
  #timer: Timer | undefined
  #isEnded = false

  constructor(file: string, { maxBytes, clock }: { maxBytes: number; clock: Clock }) {
    this.#file = file
    this.#window = new OutputWindow(maxBytes)
    this.#clock = clock.machine
    this.#descriptor = openSync(file, 'w+', 0o600)
    this.#wait()
  }

  /** Returns what there was, and deletes the file. Idempotent. */
  end(): string {
    if (this.#isEnded) return this.#window.toString()
    this.#isEnded = true
    this.#timer?.cancel()
    this.#take()
    closeSync(this.#descriptor)
    rmSync(this.#file, { force: true })
    return this.#window.toString()
  }

  #wait(): void {
    const look = (): void => {
      if (fstatSync(this.#descriptor).size > mostOnDisk) this.#take()
      this.#wait()
    }
    this.#timer = this.#clock.setTimer(lookMs, look, { background: true })
  }

  #take(): void {
    const part = Buffer.alloc(partBytes)
    let at = 0
    for (;;) {
      const length = readSync(this.#descriptor, part, 0, part.length, at)
      if (length === 0) break
      this.#window.add(part.subarray(0, length))
      at += length
    }
    ftruncateSync(this.#descriptor, 0)
  }
}
