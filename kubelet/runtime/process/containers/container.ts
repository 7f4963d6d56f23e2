import type { ContainerRecord } from '../../container-runtime.ts'
import { sendSignal } from '../../signals.ts'
import type { Exited, Started, StoredContainer } from '../record-store.ts'
import type { OutputStream } from '../streams/output-stream.ts'
import type { PipeReader } from '../streams/pipe-reader.ts'
import type { ContainerLog } from './container-log.ts'

/**
 * A container as the runtime holds it while its record exists. Its process leads a group; `record.pid` is 0 until it
 * runs.
 */
export interface Container {
  readonly stored: StoredContainer
  record: ContainerRecord
  /** Present while the container's output may still grow. */
  output?: { reader: PipeReader; log: ContainerLog; attached: Set<OutputStream> }
  /** Name of the pipe that it reads, until that is at its end. */
  input?: string
  readonly started: PromiseWithResolvers<void>
  readonly exited: PromiseWithResolvers<void>
}

const exitStart = 128
const exitLost = 255

export function newContainer(stored: StoredContainer): Container {
  const container: Container = {
    stored,
    record: runningRecord(stored, { pid: 0, atMs: stored.createdAtMs }),
    started: Promise.withResolvers<void>(),
    exited: Promise.withResolvers<void>(),
  }
  container.started.promise.catch(() => {}) // its failure is also in the record
  return container
}

export function runningRecord(stored: StoredContainer, { pid, atMs }: Started): ContainerRecord {
  const { id, sandboxId, podUid, name, attempt, image, imageId, logPath, createdAtMs, annotations } = stored
  return {
    id,
    sandboxId,
    podUid,
    name,
    attempt,
    image,
    imageId,
    logPath,
    createdAtMs,
    annotations,
    state: 'running',
    pid,
    startedAtMs: atMs,
  }
}

export const exitedRecord = (record: ContainerRecord, { code, atMs, reason }: Exited): ContainerRecord => ({
  ...record,
  state: 'exited',
  exitCode: code,
  finishedAtMs: atMs,
  ...(reason && { reason }),
})

export const failedRecord = (stored: StoredContainer, message: string): ContainerRecord => ({
  ...exitedRecord(runningRecord(stored, { pid: 0, atMs: 0 }), { code: exitStart, atMs: stored.createdAtMs }),
  reason: 'StartError',
  message,
})

/** The end of a container that the shim does not know: containerd reports one that a reboot ended in the same way. */
export const lostExit = (atMs: number): Exited => ({ code: exitLost, atMs, reason: 'Unknown' })

/**
 * Kills a container. In a PID namespace of its own, all of its processes end with process 1; elsewhere its process
 * group is killed.
 */
export function killContainer({ stored, record }: Container): void {
  if (record.pid !== 0) sendSignal(stored.processes === 'own' ? record.pid : -record.pid, 'SIGKILL')
}

/** Takes the last lines, and closes the log. */
export function closeOutput(container: Container): void {
  if (!container.output) return
  container.output.reader.drain()
  container.output.reader.close()
  container.output.log.close()
  container.output = undefined
}
