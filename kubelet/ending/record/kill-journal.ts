import type { TerminatedContainer, TerminationStep } from '../../../shared/api/termination.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import { toMicroTime } from '../../../shared/clock/timestamp.ts'
import type { ActionResult } from '../../actions/action.ts'
import { goDuration } from '../../pod/go-duration.ts'
import type { ContainerRecord, SignalReception } from '../../runtime/container-runtime.ts'
import { endingSignal, type HookOutcome, type KillFacts, verdict } from './verdict.ts'

/** Takes down each step of one kill. No method waits or throws. */
export interface KillJournal {
  hookBegins(): void
  /** May come after {@link hookOverruns}, when the kill no longer waits for the hook. */
  hookEnds(result: ActionResult): void
  hookOverruns(): void
  /** The kill waits for containers that must end before this one. */
  waitBegins(): void
  waitEnds(): void
  /** The container has less time than it was given at first. */
  graceShortened(seconds: number): void
  signalled(name: string, reception?: SignalReception): void
  ended(): void
}

/** The first and the last bytes of a longer text are kept, this many of each. */
const KEPT_BYTES = 4 * 1024
/** A command's output may have a line that says how much was left out already; it has at most this size. */
const NOTE_BYTES = 64
const dispositions = { caught: 'Caught', ignored: 'Ignored', default: 'Default' } as const

/** Collects the steps of a kill, and turns them into a part of the termination record. */
export class RecordedKill implements KillJournal {
  readonly name: string
  graceSeconds: number
  readonly containerId: string
  readonly #clock: Clock
  readonly #startMs: number
  readonly #onEnd: () => void
  readonly #steps: TerminationStep[] = []
  readonly #signals: KillFacts['signals'] = []
  #hook: TerminationStep | undefined
  #wait: TerminationStep | undefined
  #waitStartMs = 0
  #waitedMs = 0
  #usedMs = 0

  constructor(
    stopped: { name: string; containerId: string; graceSeconds: number },
    { clock, onEnd }: { clock: Clock; onEnd(): void },
  ) {
    this.name = stopped.name
    this.containerId = stopped.containerId
    this.graceSeconds = stopped.graceSeconds
    this.#clock = clock
    this.#startMs = clock.monotonic()
    this.#onEnd = onEnd
  }

  get usedMs(): number {
    return this.#usedMs
  }

  /** Milliseconds that the kill took, without the waits for other containers. */
  get ownMs(): number {
    return this.#usedMs - this.#waitedMs
  }

  hookBegins(): void {
    this.#hook = this.#begin('PreStop')
  }

  hookEnds({ outcome, output, exitCode, httpStatus, message }: ActionResult): void {
    const step = this.#hook
    if (!step) return
    step.exitCode = exitCode
    step.httpStatus = httpStatus
    if (output) step.output = ends(output)
    if (outcome !== 'success') step.message = ends(message)
    // A result that arrives after the step's outcome does not change it.
    if (step.outcome) return
    step.outcome = outcome === 'success' ? 'Succeeded' : 'Failed'
    step.endTime = this.#now()
  }

  hookOverruns(): void {
    if (this.#hook) Object.assign(this.#hook, { outcome: 'TimedOut', endTime: this.#now() })
  }

  waitBegins(): void {
    this.#waitStartMs = this.#clock.monotonic()
    this.#wait = this.#begin('WaitForContainers')
  }

  waitEnds(): void {
    if (!this.#wait) return
    this.#wait.endTime = this.#now()
    this.#waitedMs = this.#clock.monotonic() - this.#waitStartMs
    // Less: it was its turn already.
    if (this.#waitedMs < 1) this.#steps.splice(this.#steps.indexOf(this.#wait), 1)
  }

  graceShortened(seconds: number): void {
    this.graceSeconds = seconds
  }

  signalled(name: string, reception?: SignalReception): void {
    const known = name.startsWith('SIG') ? name : `SIG${name}`
    this.#endSignal()
    const step = this.#begin(known)
    if (reception && known !== 'SIGKILL') step.outcome = dispositions[reception.disposition]
    this.#signals.push({ name: known, reception, afterMs: this.#clock.monotonic() - this.#startMs })
  }

  ended(): void {
    this.#usedMs = this.#clock.monotonic() - this.#startMs
    this.#endSignal()
    this.#onEnd()
  }

  told({ exitCode, reason }: Pick<ContainerRecord, 'exitCode' | 'reason'> = {}): TerminatedContainer {
    const { name, graceSeconds } = this
    const hook = this.#hook && ((this.#hook.outcome ?? 'Failed') as HookOutcome)
    const ranOutOfMemory = reason === 'OOMKilled'
    const signals = this.#signals
    const facts: KillFacts = { graceSeconds, usedMs: this.#usedMs, hook, signals, exitCode, ranOutOfMemory }
    const { type, text } = verdict(facts)
    return {
      name,
      verdict: text,
      verdictType: type,
      gracePeriodSeconds: graceSeconds,
      used: goDuration(Math.round(this.#usedMs)),
      exitCode,
      signal: endingSignal(facts),
      steps: this.#steps,
    }
  }

  #endSignal(): void {
    const last = this.#steps.findLast(({ name }) => name.startsWith('SIG'))
    if (last) last.endTime = this.#now()
  }

  #begin(name: string): TerminationStep {
    const step: TerminationStep = { name, startTime: this.#now() }
    this.#steps.push(step)
    return step
  }

  #now = (): string => toMicroTime(this.#clock.now())
}

/** The first and the last 4 KiB. */
function ends(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= 2 * KEPT_BYTES + NOTE_BYTES) return text
  const [head, tail] = [bytes.subarray(0, KEPT_BYTES), bytes.subarray(-KEPT_BYTES)]
  return `${head}\n… ${bytes.length - 2 * KEPT_BYTES} bytes left out …\n${tail}`
}
