import type { ContainerRecord } from '../container-runtime.ts'
import type { ContainerLog } from './container-log.ts'
import type { InputPipe } from './input-pipe.ts'
import type { OutputStream } from './output-stream.ts'
import type { PipeReader } from './pipe-reader.ts'
import type { Exited, Started, StoredContainer } from './record-store.ts'
import { sendSignal } from './signals.ts'

/** A container as the runtime holds it while its record exists. */
export interface Container {
  readonly stored: StoredContainer
  record: ContainerRecord
  /** The shim's child and the leader of the process group: the container's process, or the one that made its namespaces. 0 until it is known. */
  jobPid: number
  /** While its output may still grow. */
  output?: { reader: PipeReader; log: ContainerLog; attached: Set<OutputStream> }
  /** Of a container with `stdinOnce`: its only writing end, and so ours to close. */
  input?: InputPipe
  readonly started: PromiseWithResolvers<void>
  readonly exited: PromiseWithResolvers<void>
}

const exitStart = 128
const exitLost = 255

/** One about which nothing more will be heard. */
export function settledContainer(stored: StoredContainer, record: ContainerRecord): Container {
  const container = newContainer(stored, record)
  container.started.resolve()
  container.exited.resolve()
  return container
}

export function newContainer(stored: StoredContainer, record: ContainerRecord): Container {
  return {
    stored,
    record,
    jobPid: record.pid,
    started: Promise.withResolvers<void>(),
    exited: Promise.withResolvers<void>(),
  }
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

export const exitedRecord = (record: ContainerRecord, { code, atMs }: Exited): ContainerRecord => ({
  ...record,
  state: 'exited',
  exitCode: code,
  finishedAtMs: atMs,
})

/** Of one that could not be started. */
export const failedRecord = (stored: StoredContainer, message: string): ContainerRecord => ({
  ...exitedRecord(runningRecord(stored, { pid: 0, atMs: 0 }), { code: exitStart, atMs: stored.createdAtMs }),
  reason: 'StartError',
  message,
})

/** Of one of whose end nobody can tell. */
export const lostRecord = (record: ContainerRecord, atMs: number): ContainerRecord => ({
  ...exitedRecord(record, { code: exitLost, atMs }),
  reason: 'Unknown',
})

/** In namespaces of its own everything ends with the first process, before the shim tells; elsewhere the group has to do. */
export function killContainer({ stored, record, jobPid }: Container): void {
  sendSignal(stored.isolated ? record.pid : -jobPid, 'SIGKILL')
}

/** Takes the last lines, and closes the log. */
export function closeOutput(container: Container): void {
  if (!container.output) return
  container.output.reader.drain()
  container.output.reader.close()
  container.output.log.close()
  container.output = undefined
}
