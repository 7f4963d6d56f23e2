import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runtimeDir } from '../../kubelet/runtime/process/shim.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { Ending, Supervised } from './child.ts'

const betweenMs = 250

/** A shim that an API server before this one started, and which its guardian kept alive. It is no child of ours, so it is looked at. */
export class AdoptedShim implements Supervised {
  readonly pid: number
  readonly ended: Promise<Ending>

  private constructor(pid: number, clock: Clock) {
    this.pid = pid
    this.ended = this.#untilGone(clock)
  }

  /** Undefined where none runs. */
  static find(rootDir: string, clock: Clock): AdoptedShim | undefined {
    const pid = pidIn(join(runtimeDir(rootDir), 'shim.pid'))
    return pid !== undefined && lives(pid) ? new AdoptedShim(pid, clock) : undefined
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

function pidIn(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8')) || undefined
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
