import type { Clock } from '../../../../shared/clock/clock.ts'
import { logLink } from '../../../pod/folders.ts'
import { type ContainerRecord, type ReachedLimit, type RuntimeEvent, StartError } from '../../container-runtime.ts'
import type { LogLimits } from '../../log-files.ts'
import type { ContainerHistory, Exited, RecordStore, StoredContainer } from '../record-store.ts'
import { startFailure } from '../runtime-errors.ts'
import type { StartedProcess } from '../shim/connection.ts'
import type { OutputStream } from '../streams/output-stream.ts'
import { readPipe } from '../streams/pipe-reader.ts'
import { type Container, exitedRecord, failedRecord, lostExit, newContainer, runningRecord } from './container.ts'
import { ContainerLog } from './container-log.ts'

/** Asks and removes the control groups of containers. */
export interface ContainerGroups {
  ranOutOfMemory(container: Container): boolean
  remove(container: Container): void
}

/** The containers and their lives: each goes from started to exited, as the shim tells. */
export class Containers {
  readonly #store: RecordStore
  readonly #clock: Clock
  readonly #logs: LogLimits | undefined
  readonly #cgroups: ContainerGroups | undefined
  readonly #containers = new Map<string, Container>()
  readonly #bySandbox = new Map<string, Set<Container>>()
  readonly #listeners = new Set<(event: RuntimeEvent) => void>()
  readonly #limitListeners = new Set<(reached: ReachedLimit) => void>()

  constructor(options: { store: RecordStore; clock: Clock; logs?: LogLimits; cgroups?: ContainerGroups }) {
    const { store, clock, logs, cgroups } = options
    this.#store = store
    this.#cgroups = cgroups
    this.#clock = clock
    this.#logs = logs
    for (const history of store.containers()) this.#adopt(history)
  }

  get(id: string): Container | undefined {
    return this.#containers.get(id)
  }
  all(): IterableIterator<Container> {
    return this.#containers.values()
  }
  ofSandbox(sandboxId: string): Container[] {
    return [...(this.#bySandbox.get(sandboxId) ?? [])]
  }
  onEvent(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  onLimit(listener: (reached: ReachedLimit) => void): () => void {
    this.#limitListeners.add(listener)
    return () => this.#limitListeners.delete(listener)
  }
  reached(limit: ReachedLimit['limit'], { record }: Container): void {
    const { podUid, name: container } = record
    for (const listener of this.#limitListeners) listener({ limit, podUid, container })
  }

  /** Adds a container that is about to be started, or that cannot be started. */
  add(stored: StoredContainer): Container {
    this.#store.saveContainer(stored)
    const container = newContainer(stored)
    this.#keep(container)
    if (stored.startError) this.#settle(container, failedRecord(stored, stored.startError))
    return container
  }

  remove(container: Container): void {
    this.#containers.delete(container.stored.id)
    const others = this.#bySandbox.get(container.stored.sandboxId)
    others?.delete(container)
    if (others?.size === 0) this.#bySandbox.delete(container.stored.sandboxId)
    this.#store.remove(container.stored.id)
  }

  hasStarted(container: Container, { pid, atMs, output, input }: StartedProcess): void {
    if (container.record.state === 'exited') return
    const isNew = container.record.pid === 0
    container.input = input
    this.#follow(container, output)
    if (!isNew) return
    container.record = runningRecord(container.stored, { pid, atMs })
    this.#store.saveStarted(container.stored.id, { pid, atMs })
    container.started.resolve()
    this.#tell('started', container)
  }

  hasFailed(container: Container, why: string): void {
    if (container.record.state === 'exited') return
    const message = startFailure(why)
    this.#store.saveStartError(container.stored.id, message)
    container.started.reject(new StartError(message))
    this.#cgroups?.remove(container)
    this.#settle(container, failedRecord(container.stored, message))
  }

  hasExited(container: Container, exit: Exited): void {
    if (container.record.state === 'exited') return
    const ranOutOfMemory = this.#cgroups?.ranOutOfMemory(container) ?? false
    const known = ranOutOfMemory ? { ...exit, reason: 'OOMKilled' } : exit
    this.#cgroups?.remove(container)
    this.#store.saveExited(container.stored.id, known)
    this.#settle(container, exitedRecord(container.record, known))
    if (ranOutOfMemory) this.reached('memory', container)
  }

  /** The shim knows nothing of it. */
  isLost(container: Container): void {
    if (container.record.state === 'exited') return
    container.started.reject(new StartError('the shim, which was to start it, has ended'))
    this.hasExited(container, lostExit(this.#clock.now()))
  }

  /** Takes over a container that an earlier kubelet created. */
  #adopt({ stored, started, exited }: ContainerHistory): void {
    const container = newContainer(stored)
    this.#keep(container)
    if (started) {
      container.record = runningRecord(stored, started)
      container.started.resolve()
    }
    if (stored.startError) this.#settle(container, failedRecord(stored, stored.startError))
    else if (exited) this.#settle(container, exitedRecord(container.record, exited))
  }

  #keep(container: Container): void {
    const { id, sandboxId } = container.stored
    this.#containers.set(id, container)
    const others = this.#bySandbox.get(sandboxId)
    if (others) others.add(container)
    else this.#bySandbox.set(sandboxId, new Set([container]))
  }

  /** Writes what it prints to its log. */
  #follow(container: Container, pipe: string): void {
    const { id, logPath } = container.stored
    const log = new ContainerLog(logPath, {
      clock: this.#clock,
      limits: this.#logs,
      link: logLink(logPath, id),
      onLimit: (limit) => this.reached(limit, container),
    })
    const attached = new Set<OutputStream>()
    const reader = readPipe(pipe, (data) => {
      log.write(data)
      for (const stream of attached) stream.add(data)
    })
    container.output = { reader, log, attached }
  }

  #settle(container: Container, record: ContainerRecord): void {
    container.output?.reader.drain()
    container.output?.log.flush()
    for (const stream of container.output?.attached ?? []) stream.end()
    container.record = record
    container.started.resolve()
    container.exited.resolve()
    this.#tell('exited', container)
  }

  #tell(type: RuntimeEvent['type'], { record }: Container): void {
    for (const listener of this.#listeners) listener({ type, podUid: record.podUid, containerId: record.id })
  }
}
