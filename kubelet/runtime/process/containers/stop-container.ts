import type { Clock } from '../../../../shared/clock/clock.ts'
import { withinLimit } from '../../../../shared/clock/within-limit.ts'
import type { ContainerRuntime, Sandbox, SignalReception } from '../../container-runtime.ts'
import { receptionOf } from '../../proc-files.ts'
import { sendSignal, signalNumber } from '../../signals.ts'
import type { RecordStore } from '../record-store.ts'
import { type Container, killContainer } from './container.ts'
import type { SignalRounds } from './signal-rounds.ts'

interface Surroundings {
  store: RecordStore
  clock: Clock
  rounds: SignalRounds
  sandbox?: Sandbox
  warn(message: string, fields: object): void
}

/** A killed container may take this long to be reaped: the kubelet's runtime request timeout. */
const reapTimeoutMs = 120_000

/**
 * Sends the signal once, to the main process, and SIGKILL to the whole container when the grace period ends. Resolves
 * when the container is reaped; throws an Error if it survives SIGKILL.
 */
export async function stopContainer(
  container: Container,
  { signal, gracePeriodMs, onSignal }: Parameters<ContainerRuntime['stopContainer']>[1],
  surroundings: Surroundings,
): Promise<void> {
  const { store, clock, rounds } = surroundings
  const { id } = container.stored
  if (gracePeriodMs > 0) {
    let reception: SignalReception | undefined
    await rounds.add({
      prepare() {
        if (store.stopSignal(id) !== undefined || container.record.state === 'exited') return false
        store.saveStopSignal(id, signal)
        // Asked before: a process that has ended tells nothing.
        reception = onSignal && reactionOf(container, signal, surroundings)
        return true
      },
      send() {
        sendSignal(container.record.pid, signal)
        onSignal?.(signal, reception)
      },
    })
    if (await withinLimit(container.exited.promise, gracePeriodMs, clock)) return
  }
  killContainer(container)
  onSignal?.('SIGKILL')
  if (await withinLimit(container.exited.promise, reapTimeoutMs, clock.machine)) return
  throw new Error(`container ${id} (process ${container.record.pid}) does not end, although it was killed`)
}

/**
 * Returns how the process is set to handle the signal. It logs a warning if the process would handle it differently in
 * a container.
 */
function reactionOf(
  { record }: Container,
  signal: string,
  { sandbox, warn }: Surroundings,
): SignalReception | undefined {
  const { podUid, name, pid } = record
  const reception = receptionOf(pid, signalNumber(signal))
  const isInitElsewhere = !sandbox?.shareProcessNamespace && !sandbox?.hostPID && !reception?.isInit
  if (!reception || !isInitElsewhere || reception.disposition !== 'default') return reception
  warn(`would ignore ${signal} as PID 1, which it is in a container`, { podUid, container: name, pid })
  return { ...reception, wouldIgnore: true }
}
