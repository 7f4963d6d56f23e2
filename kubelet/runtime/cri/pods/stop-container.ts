import type { Clock } from '../../../../shared/clock/clock.ts'
import type { ContainerRuntime } from '../../container-runtime.ts'
import { receptionOf } from '../../proc-files.ts'
import { signalNumber } from '../../signals.ts'
import { type CriClient, isMissing } from '../api/client.ts'
import type { PodRecords } from './pod-records.ts'

export interface StopPlaces {
  client: CriClient
  records: PodRecords
  clock: Clock
  /** The containers that were asked to end. */
  asked: Set<string>
}

/** A killed container may take this long to be reaped. */
const reapMs = 120_000
const exitKilled = 137

/**
 * Lets the runtime send its signal and, when the grace period is over, SIGKILL. It counts whole seconds, so that at the
 * very moment we ask it ourselves; should the kubelet be gone by then, it goes by its own count.
 */
export async function stopContainer(
  containerId: string,
  { signal, gracePeriodMs, onSignal }: Parameters<ContainerRuntime['stopContainer']>[1],
  { client, records, clock, asked }: StopPlaces,
): Promise<void> {
  const record = await records.container(containerId)
  if (!record || record.state === 'exited') return
  const stop = async (timeout: number): Promise<void> => {
    try {
      await client.call('stopContainer', { containerId, timeout }, { timeoutMs: timeout * 1000 + reapMs })
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
  const kill = (): Promise<void> => {
    onSignal?.('SIGKILL')
    return stop(0)
  }
  if (gracePeriodMs <= 0) await kill()
  else {
    if (!asked.has(containerId)) {
      asked.add(containerId)
      onSignal?.(signal, receptionOf(record.pid, signalNumber(signal)))
    }
    const timeout = Math.max(1, Math.ceil(gracePeriodMs / clock.scale / 1000))
    let killing: Promise<void> | undefined
    const timer = clock.setTimer(gracePeriodMs, () => {
      killing = kill()
      killing.catch(() => {})
    })
    const askedMs = clock.machine.monotonic()
    try {
      await stop(timeout)
    } finally {
      timer.cancel()
    }
    await killing
    const took = clock.machine.monotonic() - askedMs
    const ended = await records.container(containerId)
    if (!killing && took >= timeout * 1000 && ended?.exitCode === exitKilled) onSignal?.('SIGKILL')
  }
  await records.refresh(containerId)
}
