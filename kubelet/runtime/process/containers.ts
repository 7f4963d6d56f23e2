import { existsSync } from 'node:fs'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { RuntimeEvent } from '../container-runtime.ts'
import {
  type Container,
  exitedRecord,
  failedRecord,
  lostRecord,
  newContainer,
  runningRecord,
  settledContainer,
} from './container.ts'
import { ContainerLog } from './container-log.ts'
import { InputPipe } from './input-pipe.ts'
import { readPipe } from './pipe-reader.ts'
import { exists } from './proc-files.ts'
import { runningProgram } from './program.ts'
import type { RecordStore, Started, StoredContainer } from './record-store.ts'
import { sendSignal } from './signals.ts'

/** How long the shim may take to tell of an exit. */
const exitReportTimeoutMs = 2_000
/** How long a program may run in its new namespaces without being seen. */
const longestLookMs = 8

/** The containers and their lives: each goes from started to exited, as the shim tells. */
export class Containers {
  readonly #store: RecordStore
  readonly #clock: Clock
  readonly #containers = new Map<string, Container>()
  readonly #listeners = new Set<(event: RuntimeEvent) => void>()

  constructor({ store, clock }: { store: RecordStore; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  get(id: string): Container | undefined {
    return this.#containers.get(id)
  }
  all(): IterableIterator<Container> {
    return this.#containers.values()
  }
  ofSandbox(sandboxId: string): Container[] {
    return [...this.#containers.values()].filter(({ stored }) => stored.sandboxId === sandboxId)
  }
  forget(id: string): void {
    this.#containers.delete(id)
  }
  onEvent(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  addFailed(stored: StoredContainer, message: string): void {
    this.#containers.set(stored.id, settledContainer(stored, failedRecord(stored, message)))
  }

  /** One about to be started: reads what it prints. */
  follow(stored: StoredContainer): Container {
    const container = newContainer(stored, runningRecord(stored, { pid: 0, atMs: stored.createdAtMs }))
    const log = new ContainerLog(stored.logPath, this.#clock)
    const attached: NonNullable<Container['output']>['attached'] = new Set()
    const reader = readPipe(stored.pipe, (data) => {
      log.write(data)
      for (const stream of attached) stream.add(data)
    })
    container.output = { reader, log, attached }
    if (stored.stdinOnce) container.input = new InputPipe()
    container.started.promise.catch(() => {})
    this.#containers.set(stored.id, container)
    return container
  }

  /** One that an earlier kubelet started. */
  adopt(stored: StoredContainer): void {
    if (stored.startError) {
      this.addFailed(stored, stored.startError)
      return
    }
    const started = this.#store.started(stored.id)
    const exited = this.#store.exited(stored.id)
    // Pipes are made anew by each shim: with its pipe the container has a shim that waits for it.
    const isWatched = existsSync(stored.pipe)
    if (!started || !(exited || isWatched)) {
      const record = runningRecord(stored, started ?? { pid: 0, atMs: stored.createdAtMs })
      this.#containers.set(stored.id, settledContainer(stored, lostRecord(record, this.#clock.now())))
      return
    }
    if (exited && !isWatched) {
      this.#containers.set(stored.id, settledContainer(stored, exitedRecord(runningRecord(stored, started), exited)))
      return
    }
    const container = this.follow(stored)
    if (stored.stdinOnce && stored.input !== undefined && existsSync(stored.input)) container.input?.open(stored.input)
    this.look(container)
    if (container.record.state === 'running' && !exists(started.pid)) this.#expectExit(container)
  }

  /** The shim may have written something about it. */
  look(container: Container): void {
    this.#lookForStart(container)
    this.#lookForExit(container)
  }

  /** It has ended and the shim is about to say so; if it does not, whoever could have is gone. */
  #expectExit(container: Container): void {
    this.#clock.machine.setTimer(exitReportTimeoutMs, () => {
      if (container.record.state === 'exited') return
      this.#end(container, lostRecord(container.record, this.#clock.now()))
    })
  }

  #lookForStart(container: Container): void {
    if (container.jobPid !== 0) return
    const started = this.#store.started(container.stored.id)
    if (!started) return
    container.jobPid = started.pid
    if (container.record.state === 'exited') {
      // Asked for by a kubelet that died, and given up for lost by this one.
      sendSignal(-started.pid, 'SIGKILL')
      return
    }
    const known = this.#store.program(container.stored.id)
    if (!container.stored.isolated && !container.stored.ownFiles) this.#hasStarted(container, started)
    else if (known !== undefined) this.#hasStarted(container, { ...started, pid: known })
    else this.#awaitProgram(container, started)
  }

  /** Its namespaces are complete, and can be entered, when the program itself runs in them; nobody tells when that is. */
  #awaitProgram(container: Container, started: Started, afterMs = 1): void {
    if (container.record.state === 'exited') return
    const pid = runningProgram(started.pid, container.stored, this.#store.root)
    if (pid === undefined) {
      this.#clock.machine.setTimer(afterMs, () =>
        this.#awaitProgram(container, started, Math.min(2 * afterMs, longestLookMs)),
      )
      return
    }
    this.#store.saveProgram(container.stored.id, pid)
    this.#hasStarted(container, { ...started, pid })
  }

  #hasStarted(container: Container, { pid, atMs }: Started): void {
    container.record = { ...container.record, pid, startedAtMs: atMs }
    container.started.resolve()
    this.#tell('started', container)
  }

  #lookForExit(container: Container): void {
    if (container.record.state === 'exited' || container.jobPid === 0) return
    const exited = this.#store.exited(container.stored.id)
    if (!exited) return
    // A program may have ended before it was seen.
    if (container.record.pid === 0) this.#hasStarted(container, { pid: container.jobPid, atMs: exited.atMs })
    this.#end(container, exitedRecord(container.record, exited))
  }

  #end(container: Container, record: Container['record']): void {
    container.output?.reader.drain()
    container.output?.log.flush()
    for (const stream of container.output?.attached ?? []) stream.end()
    container.input?.destroy()
    container.record = record
    container.exited.resolve()
    this.#tell('exited', container)
  }

  #tell(type: RuntimeEvent['type'], { record }: Container): void {
    for (const listener of this.#listeners) listener({ type, podUid: record.podUid, containerId: record.id })
  }
}
