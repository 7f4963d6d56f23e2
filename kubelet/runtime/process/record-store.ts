import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { ContainerConfig, Sandbox } from '../container-runtime.ts'
import type { ProgramUser } from './launch/program-user.ts'

export type Processes = 'own' | 'pod' | 'host'

/** Holds what is known about a container when it is created. */
export interface StoredContainer extends ContainerConfig {
  id: string
  podUid: string
  createdAtMs: number
  /** The processes that it sees: its own only, as process 1; those of its pod; or the machine's. */
  processes: Processes
  /** The container's IPC namespace is not the machine's. */
  ownIpc?: boolean
  /** The container has its own view of the files. */
  ownFiles: boolean
  /** The user of a container with an image's files: what the image's own files say of it. */
  imageUser?: ProgramUser
  /** The container never ran, for this reason. */
  startError?: string
}
export interface Started {
  pid: number
  atMs: number
}
export interface Exited {
  code: number
  atMs: number
  /** The reason for the exit if the code alone does not tell it. */
  reason?: string
}
export interface ContainerHistory {
  stored: StoredContainer
  started?: Started
  exited?: Exited
  /** The signal that the container was sent, if any. */
  stopSignal?: string
}

/** Describes a line of the journal. A container's later lines say what changed. */
type Entry =
  | { sandbox: Sandbox }
  | { container: StoredContainer }
  | { id: string; started: Started }
  | { id: string; exited: Exited }
  | { id: string; startError: string }
  | { id: string; stopSignal: string }
  | { removed: string }

/** Rewritten when it is larger than this, and mostly outdated. */
const largestJournal = 1024 * 1024

/**
 * Keeps everything that a restarted kubelet must know: a journal with one line of JSON for each event. It is a single
 * file, because creating files is slow on many disks. A line that a full disk does not take is kept in memory and
 * written later.
 */
export class RecordStore {
  readonly root: string
  readonly #sandboxes = new Map<string, Sandbox>()
  readonly #containers = new Map<string, ContainerHistory>()
  #fd = -1
  #bytes = 0
  #liveBytes = 0
  #isBehind = false

  constructor(root: string) {
    this.root = root
    mkdirSync(path.join(root, 'view'), { recursive: true, mode: 0o700 })
    if (existsSync(this.#file)) this.#read()
    this.#rewrite()
  }

  /** Returns the sandboxes in the order in which they were created. */
  sandboxes(): Sandbox[] {
    return [...this.#sandboxes.values()]
  }
  containers(): ContainerHistory[] {
    return [...this.#containers.values()]
  }
  stopSignal(id: string): string | undefined {
    return this.#containers.get(id)?.stopSignal
  }

  saveSandbox(sandbox: Sandbox): void {
    this.#add({ sandbox })
  }
  saveContainer(container: StoredContainer): void {
    this.#add({ container })
  }
  saveStarted(id: string, { pid, atMs }: Started): void {
    this.#add({ id, started: { pid, atMs } })
  }
  saveExited(id: string, exited: Exited): void {
    this.#add({ id, exited })
  }
  saveStartError(id: string, startError: string): void {
    this.#add({ id, startError })
  }
  saveStopSignal(id: string, stopSignal: string): void {
    this.#add({ id, stopSignal })
  }
  remove(id: string): void {
    this.#add({ removed: id })
  }
  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd)
    this.#fd = -1
  }

  get #file(): string {
    return path.join(this.root, 'journal')
  }

  #add(entry: Entry): void {
    this.#apply(entry)
    if (this.#fd < 0) return
    if (this.#isBehind || this.#bytes > Math.max(largestJournal, 4 * this.#liveBytes)) this.#rewrite()
    else this.#append(entry)
  }

  #append(entry: Entry): void {
    const line = Buffer.from(`${JSON.stringify(entry)}\n`)
    try {
      this.#isBehind = writeSync(this.#fd, line) < line.length
    } catch {
      this.#isBehind = true
    }
    this.#bytes += line.length
  }

  #apply(entry: Entry): void {
    if ('sandbox' in entry) this.#sandboxes.set(entry.sandbox.id, entry.sandbox)
    else if ('container' in entry) this.#containers.set(entry.container.id, { stored: entry.container })
    else if ('removed' in entry) {
      this.#sandboxes.delete(entry.removed)
      this.#containers.delete(entry.removed)
    } else {
      const { id, ...change } = entry
      const history = this.#containers.get(id)
      if (!history) return
      if ('startError' in change) history.stored = { ...history.stored, ...change }
      else Object.assign(history, change)
    }
  }

  /** A last line without its end was being written when the kubelet died, and was never acknowledged. */
  #read(): void {
    const lines = readFileSync(this.#file, 'utf8').split('\n')
    for (const line of lines.slice(0, -1)) this.#apply(JSON.parse(line) as Entry)
  }

  /** Rewrites the journal with only the entries that still count. */
  #rewrite(): void {
    const text = this.#entries()
      .map((entry) => `${JSON.stringify(entry)}\n`)
      .join('')
    try {
      writeFileSync(`${this.#file}.new`, text, { mode: 0o600 })
      renameSync(`${this.#file}.new`, this.#file)
      this.close()
      this.#fd = openSync(this.#file, 'a')
      this.#isBehind = false
    } catch (error) {
      if (this.#fd < 0) throw error
      this.#isBehind = true
    }
    this.#liveBytes = this.#bytes = text.length
  }

  #entries(): Entry[] {
    return [
      ...this.sandboxes().map((sandbox) => ({ sandbox })),
      ...this.containers().flatMap(({ stored, started, exited, stopSignal }): Entry[] => [
        { container: stored },
        ...(started ? [{ id: stored.id, started }] : []),
        ...(stopSignal ? [{ id: stored.id, stopSignal }] : []),
        ...(exited ? [{ id: stored.id, exited }] : []),
      ]),
    ]
  }
}
