import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { ContainerConfig, Sandbox } from '../container-runtime.ts'

/** What is written when a container is made; pid, exit and their times are the shim's files, `stopSignal` says that we have sent one. */
export interface StoredContainer extends ContainerConfig {
  id: string
  podUid: string
  createdAtMs: number
  pipe: string
  /** What it reads, if anything: one that its shim holds open, or one of its own (`inputFile`). */
  input?: string
  /** It has namespaces of its own. */
  isolated: boolean
  /** It has its own view of the files. */
  ownFiles: boolean
  /** It never ran, for this reason. */
  startError?: string
}
export interface Started {
  pid: number
  atMs: number
}
export interface Exited {
  code: number
  atMs: number
}

/** The runtime's files: all that a kubelet knows after it was killed. */
export class RecordStore {
  readonly root: string
  readonly #clock: Clock

  constructor(root: string, clock: Clock) {
    this.root = root
    this.#clock = clock
    for (const dir of ['containers', 'sandboxes', 'execs', 'events', 'pipes', 'view'])
      mkdirSync(path.join(root, dir), { recursive: true, mode: 0o700 })
  }

  containers(): StoredContainer[] {
    return this.#readAll<StoredContainer>('containers')
  }
  sandboxes(): Sandbox[] {
    return this.#readAll<Sandbox>('sandboxes')
  }
  execs(): string[] {
    return readdirSync(path.join(this.root, 'execs')).map((file) => path.parse(file).name)
  }
  pipes(): string[] {
    return readdirSync(path.join(this.root, 'pipes')).map((name) => path.join(this.root, 'pipes', name))
  }

  saveContainer(container: StoredContainer): void {
    this.#write(path.join('containers', `${container.id}.json`), JSON.stringify(container))
  }
  saveSandbox(sandbox: Sandbox): void {
    this.#write(path.join('sandboxes', `${sandbox.id}.json`), JSON.stringify(sandbox))
  }
  saveLaunch(dir: 'containers' | 'execs', id: string, script: string): void {
    writeFileSync(this.launchFile(dir, id), script, { mode: 0o600 })
  }
  launchFile(dir: 'containers' | 'execs', id: string): string {
    return path.join(this.root, dir, `${id}.launch`)
  }
  /** Which signal a container was sent, if any. */
  stopSignal(id: string): string | undefined {
    const file = path.join(this.root, 'containers', `${id}.stopSignal`)
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined
  }
  saveStopSignal(id: string, signal: string): void {
    writeFileSync(path.join(this.root, 'containers', `${id}.stopSignal`), signal)
  }

  /** The process that is the program, where that is not the shim's own child. */
  program(id: string): number | undefined {
    const file = path.join(this.root, 'containers', `${id}.program`)
    return existsSync(file) ? Number(readFileSync(file, 'latin1')) : undefined
  }
  saveProgram(id: string, pid: number): void {
    this.#write(path.join('containers', `${id}.program`), String(pid))
  }
  /** Later than the shim's own start: an earlier one's process ids may be others' by now. */
  isOfThisShim({ atMs }: Started): boolean {
    const shim = statSync(path.join(this.root, 'shim.pid'), { throwIfNoEntry: false })
    return shim !== undefined && this.#clock.at(shim.mtimeMs) <= atMs
  }

  started(id: string): Started | undefined {
    const event = this.#event(`${id}.pid`)
    return event && { pid: event.value, atMs: event.atMs }
  }
  exited(id: string): Exited | undefined {
    const event = this.#event(`${id}.exit`)
    return event && { code: event.value, atMs: event.atMs }
  }

  /** Where the shim's child makes the pipe of a process that shall see its end of file; that it is there, is an event. */
  inputFile(id: string): string {
    return path.join(this.root, 'events', `${id}.stdin`)
  }

  removeContainer(id: string): void {
    this.#removeEvents(id)
    for (const kind of ['json', 'launch', 'stopSignal', 'program']) this.#remove('containers', `${id}.${kind}`)
  }
  removeExec(id: string): void {
    this.#removeEvents(id)
    this.#remove('execs', `${id}.launch`)
  }
  removeSandbox(id: string): void {
    this.#remove('sandboxes', `${id}.json`)
  }

  /** The shim's word, once it is written whole. Its time is the file's. */
  #event(name: string): { value: number; atMs: number } | undefined {
    const file = path.join(this.root, 'events', name)
    try {
      const text = readFileSync(file, 'latin1')
      return text.endsWith('\n') ? { value: Number(text), atMs: this.#clock.at(statSync(file).mtimeMs) } : undefined
    } catch {
      return undefined
    }
  }

  #removeEvents(id: string): void {
    for (const kind of ['pid', 'exit', 'stdin']) this.#remove('events', `${id}.${kind}`)
  }

  #remove(dir: string, file: string): void {
    try {
      unlinkSync(path.join(this.root, dir, file))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  #write(file: string, text: string): void {
    const target = path.join(this.root, file)
    writeFileSync(`${target}.tmp`, text, { mode: 0o600 })
    renameSync(`${target}.tmp`, target)
  }

  /** What was being written when the kubelet died is not there, and was never promised to anybody. */
  #readAll<T>(dir: string): T[] {
    return readdirSync(path.join(this.root, dir))
      .filter((entry) => entry.endsWith('.json'))
      .map((entry) => JSON.parse(readFileSync(path.join(this.root, dir, entry), 'utf8')) as T)
  }
}
