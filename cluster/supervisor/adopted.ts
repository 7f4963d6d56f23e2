import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runtimeDir } from '../../kubelet/runtime/process/shim/shim.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { type Holder, living } from '../../shared/files/lock.ts'
import { readRegularFile } from '../../shared/files/regular-file.ts'
import type { StateDirectory } from '../state-directory.ts'
import type { Ending, Supervised } from './child.ts'
import { kubeletPidFile } from './child-specs.ts'

const betweenMs = 50

/**
 * A process that an API server before this one started, and which its guardian kept alive. It is no child of this
 * process, so it is polled.
 */
export class Adopted implements Supervised {
  readonly pid: number
  readonly ended: Promise<Ending>

  private constructor(pid: number, clock: Clock) {
    this.pid = pid
    this.ended = this.#untilGone(clock)
  }

  /** Returns the shim that runs; undefined if none does. */
  static shim(rootDir: string, clock: Clock): Adopted | undefined {
    return Adopted.#find(join(runtimeDir(rootDir), 'shim.pid'), clock)
  }

  static kubelet(place: Pick<StateDirectory, 'kubelet' | 'logs'>, clock: Clock): Adopted | undefined {
    return Adopted.#find(kubeletPidFile(place), clock)
  }

  static #find(pidFile: string, clock: Clock): Adopted | undefined {
    const pid = pidIn(pidFile)
    return pid !== undefined && lives(pid) ? new Adopted(pid, clock) : undefined
  }

  /** Returns the process of a lock's holder; undefined if it has ended. */
  static of(holder: Holder, clock: Clock): Adopted | undefined {
    const found = living(holder)
    return found && lives(found.pid) ? new Adopted(found.pid, clock) : undefined
  }

  signal(signal: NodeJS.Signals): void {
    if (lives(this.pid)) process.kill(this.pid, signal)
  }

  release(): void {
    this.signal('SIGTERM')
  }

  async endWithin(clock: Clock, timeoutMs: number): Promise<void> {
    const timer = clock.setTimer(timeoutMs, () => this.signal('SIGKILL'))
    await this.ended
    timer.cancel()
  }

  async #untilGone(clock: Clock): Promise<Ending> {
    while (lives(this.pid)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      clock.setTimer(betweenMs, resolve, { background: true })
      await promise
    }
    return 'it was started by an earlier API server, so how is not known'
  }
}

/** The kubelet of the server before has waited for ours: two of them cannot have one shim. */
export async function endKubeletBefore(place: Pick<StateDirectory, 'kubelet' | 'logs'>, clock: Clock): Promise<void> {
  const kubelet = Adopted.kubelet(place, clock)
  kubelet?.signal('SIGKILL')
  await kubelet?.ended
}

function pidIn(file: string): number | undefined {
  try {
    return Number(readRegularFile(file)) || undefined
  } catch {
    return undefined
  }
}

/** A process that has ended counts as gone, also when its parent has not taken notice. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return process.platform !== 'linux'
  }
}
