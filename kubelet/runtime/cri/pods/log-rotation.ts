import { statSync } from 'node:fs'
import type { Clock, Timer } from '../../../../shared/clock/clock.ts'
import type { ContainerRecord } from '../../container-runtime.ts'
import { type LogLimits, rotateLog } from '../../log-files.ts'
import type { CriClient } from '../api/client.ts'

export interface LogRotationOptions {
  client: CriClient
  clock: Clock
  limits: LogLimits
  running(): Promise<ContainerRecord[]>
}

/** Upstream: containerLogMonitorInterval. */
const lookMs = 10_000

/** Moves logs aside that have become too large: the runtime, which writes them, is told to begin another. */
export class LogRotation {
  readonly #options: LogRotationOptions
  readonly #clock: Clock
  #timer: Timer | undefined
  #isClosed = false

  constructor(options: LogRotationOptions) {
    this.#options = options
    this.#clock = options.clock.machine
    this.#wait()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  #wait(): void {
    if (this.#isClosed) return
    const look = (): void => void this.#look().finally(() => this.#wait())
    this.#timer = this.#clock.setTimer(lookMs, look, { background: true })
  }

  async #look(): Promise<void> {
    const { client, limits, running } = this.#options
    try {
      for (const { id, logPath } of await running()) {
        if ((statSync(logPath, { throwIfNoEntry: false })?.size ?? 0) <= limits.fileBytes) continue
        rotateLog(logPath, limits.files)
        await client.call('reopenContainerLog', { containerId: id })
      }
    } catch {
      // The records tell of a container that has ended, the watch of a runtime that is gone.
    }
  }
}
