import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import type { Clock } from '../../../../shared/clock/clock.ts'
import { withinLimit } from '../../../../shared/clock/within-limit.ts'
import type { TerminalSize } from '../../container-runtime.ts'
import { newId } from '../new-id.ts'
import { runtimeDir } from './shim.ts'
import { decodeWords, encodeRequest } from './shim-words.ts'

/** Receives what the shim reports about the processes it started. Times are the kubelet's own. */
export interface ShimListener {
  started(id: string, process: StartedProcess): void
  failed(id: string, failure: { atMs: number; why: string }): void
  exited(id: string, exit: { atMs: number; code: number }): void
  /** The shim has ended, and with it everything it started. */
  lost(): void
}
export interface StartedProcess {
  pid: number
  atMs: number
  /** Names of its pipes, to be opened while the shim remembers it. */
  output: string
  /** The pipe of stderr, if it is separate. */
  errors?: string
  input?: string
}

/** Says how the shim starts a process. */
export interface ShimRun {
  id: string
  /**
   * A container's or a sandbox's own process: its `id`. Others are commands in this container, and end with the kubelet
   * that asked for them.
   */
  containerId: string
  /** If true, stdin is a pipe instead of an empty file. */
  hasInput: boolean
  separateErrors: boolean
  /** If true, the process has a terminal, which the shim holds: the pipes carry what is typed and shown there. */
  onTerminal?: boolean
  namespaceFlags: number
  /** A process whose PID namespace it joins. */
  besidePid?: number
  /** A sandbox whose IPC namespace it joins, which the shim makes and keeps until the sandbox is forgotten. */
  ipcOf?: string
  /** A network namespace that the shim keeps, by its name; see {@link ShimConnection.network}. */
  networkOf?: string
  /** Lists the steps for `container.pl`. */
  steps: string[]
}

/** Sends requests to a running shim. */
export interface ShimConnection {
  /** The listener is told that it was started or that it failed, unless the shim hangs. */
  run(run: ShimRun): void
  /** Closes the shim's end of what a process reads. Without effect on a terminal. */
  closeInput(id: string): void
  /** Sets the size of a process's terminal. */
  resize(id: string, size: TerminalSize): void
  /**
   * Resolves to a file that is the network namespace of this name. The shim makes it, and keeps it until it is
   * forgotten.
   */
  network(name: string): Promise<string>
  /** Forgets a process of which nothing is wanted any more; the shim kills it if it runs. */
  forget(id: string): void
  /** Ends all containers and the shim. */
  end(): void
  /** Resolves when it reads nothing more: the next connection hears all that the shim says from then on. */
  close(): Promise<void>
}

const retryMs = 5
const attempts = 1_000
const answerMs = 30_000
const farewellMs = 1_000
const dash = '-'
/** The shim takes no longer line. */
const lineBytes = 8 * 1024 * 1024

/**
 * Waits for the shim that a supervisor starts beside us, at most five seconds, and half a minute for its answer. All
 * that it knows has been told then; `known` are their ids.
 */
export async function connectShim(options: {
  rootDir: string
  clock: Clock
  listener: ShimListener
  /** Names the folder of the nodes with which this one shares a user namespace, should it need one. */
  neighbours?: string
}): Promise<{ connection: ShimConnection; known: Set<string> }> {
  const { rootDir, clock } = options
  for (let attempt = 0; attempt < attempts; attempt++) {
    const pipes = openPipes(runtimeDir(rootDir))
    if (pipes) {
      const connection = new PipeConnection(pipes, options)
      return { connection, known: await connection.greet() }
    }
    await clock.machine.sleep(retryMs)
  }
  throw new Error(
    `no shim answers in ${runtimeDir(rootDir)}: it starts the containers, and perl must be installed for it`,
  )
}

/** File descriptors of the pipes to the shim and from it. */
interface Pipes {
  requests: number
  events: number
}

/** Returns undefined while no shim reads. */
function openPipes(root: string): Pipes | undefined {
  let requests: number | undefined
  try {
    // This one can be opened only while a shim reads it; the other is ready by then.
    requests = openSync(path.join(root, 'requests'), constants.O_WRONLY | constants.O_NONBLOCK)
    return { requests, events: openSync(path.join(root, 'events'), constants.O_RDONLY | constants.O_NONBLOCK) }
  } catch {
    if (requests !== undefined) closeSync(requests)
    return undefined
  }
}

class PipeConnection implements ShimConnection {
  readonly #clock: Clock
  readonly #listener: ShimListener
  readonly #neighbours: string | undefined
  readonly #requests: Socket
  readonly #events: Socket
  readonly #we = newId()
  readonly #known = new Set<string>()
  /** Holds network namespaces that were asked for, by name. */
  readonly #networks = new Map<string, PromiseWithResolvers<string>>()
  readonly #ready = Promise.withResolvers<void>()
  /**
   * Deaf until the shim's greeting: before it stands what it told a kubelet that did not hear it any more, and that is
   * told again.
   */
  #state: 'deaf' | 'learning' | 'ready' = 'deaf'
  /** The beginning of a line. */
  #unread = ''
  #isClosed = false

  constructor(
    pipes: Pipes,
    { clock, listener, neighbours }: { clock: Clock; listener: ShimListener; neighbours?: string },
  ) {
    this.#neighbours = neighbours
    this.#clock = clock
    this.#listener = listener
    this.#requests = new Socket({ fd: pipes.requests, readable: false, writable: true })
    this.#events = new Socket({ fd: pipes.events, readable: true, writable: false })
    this.#events.setEncoding('utf8')
    this.#events.on('data', (data: string) => this.#read(data))
    this.#requests.on('error', () => {})
    this.#events.on('error', () => {})
    this.#events.on('close', () => this.#lost())
  }

  /** Resolves with the ids of all that the shim knows, when all of it has been told. */
  async greet(): Promise<Set<string>> {
    // An earlier kubelet may have died in the middle of a line.
    this.#requests.write('\n')
    this.#send('hello', this.#we, String(process.pid))
    if (await withinLimit(this.#ready.promise, answerMs, this.#clock.machine)) return this.#known
    this.#destroy()
    throw new Error(
      'the shim did not answer within 30 s; it answers one kubelet at a time: is another one running in this folder?',
    )
  }

  run({
    id,
    containerId,
    hasInput,
    separateErrors,
    onTerminal = false,
    namespaceFlags,
    besidePid = 0,
    ipcOf = dash,
    networkOf = dash,
    steps,
  }: ShimRun): void {
    const outputs = onTerminal ? 0 : separateErrors ? 2 : 1
    const numbers = [hasInput ? 1 : 0, outputs, namespaceFlags, besidePid].map(String)
    const line = Buffer.from(encodeRequest(['run', id, containerId, ...numbers, ipcOf, networkOf, ...steps]))
    if (line.length > lineBytes) this.#listener.failed(id, { atMs: this.#clock.now(), why: tooLongLine(line.length) })
    else this.#write(line)
  }

  async network(name: string): Promise<string> {
    const asked = this.#networks.get(name) ?? Promise.withResolvers<string>()
    if (!this.#networks.has(name)) this.#send('network', name, ...(this.#neighbours ? [this.#neighbours] : []))
    this.#networks.set(name, asked)
    if (await withinLimit(asked.promise, answerMs, this.#clock.machine)) return asked.promise
    throw new Error('the shim did not answer within 30 s')
  }

  closeInput(id: string): void {
    this.#send('input', id)
  }

  resize(id: string, { width, height }: TerminalSize): void {
    this.#send('size', id, String(width), String(height))
  }

  forget(id: string): void {
    this.#send('forget', id)
  }

  end(): void {
    this.#send('end')
  }

  async close(): Promise<void> {
    const closed = Promise.all([this.#requests, this.#events].map(hasClosed))
    // The shim reads all requests that were sent, because it holds the pipe as well; a stopped shim reads nothing.
    this.#requests.end(() => this.#destroy())
    if (!(await withinLimit(closed, farewellMs, this.#clock.machine))) this.#destroy()
  }

  #send(...words: string[]): void {
    this.#write(encodeRequest(words))
  }

  #write(line: string | Buffer): void {
    if (!this.#isClosed) this.#requests.write(line)
  }

  #read(data: string): void {
    const lines = (this.#unread + data).split('\n')
    this.#unread = lines.pop() ?? ''
    for (const line of lines) this.#onLine(decodeWords(line))
  }

  #onLine([verb = '', id = '', ...rest]: string[]): void {
    if (this.#state === 'deaf') {
      if (verb === 'greeting' && id === this.#we) this.#state = 'learning'
    } else if (verb === 'network') {
      const [file = dash, why = ''] = rest
      const asked = this.#networks.get(id)
      this.#networks.delete(id)
      if (file === dash) asked?.reject(new Error(`no network namespace can be made: ${why}`))
      else asked?.resolve(file)
    } else if (verb === 'known') {
      this.#state = 'ready'
      this.#ready.resolve()
    } else {
      if (this.#state === 'learning') this.#known.add(id)
      this.#onNews(verb, id, rest)
    }
  }

  #onNews(verb: string, id: string, [ago = '', ...rest]: string[]): void {
    const atMs = this.#clock.now() - Number(ago) * this.#clock.scale
    if (!isReadable(verb, Number(ago), Number(rest[0]))) return
    if (verb === 'started') this.#listener.started(id, startedProcess(rest, atMs))
    else if (verb === 'failed') this.#listener.failed(id, { atMs, why: rest[0] ?? '' })
    else if (verb === 'exited') this.#listener.exited(id, { atMs, code: Number(rest[0]) })
  }

  /** The pipe has closed without us: the shim has ended. */
  #lost(): void {
    if (this.#isClosed) return
    this.#destroy()
    for (const { reject } of this.#networks.values()) reject(new Error('the shim ended'))
    if (this.#state === 'ready') this.#listener.lost()
    else this.#ready.reject(new Error('the shim ended'))
  }

  #destroy(): void {
    this.#isClosed = true
    this.#requests.destroy()
    this.#events.destroy()
  }
}

const hasClosed = (pipe: Socket): Promise<void> =>
  new Promise((resolve) => (pipe.closed ? resolve() : pipe.once('close', () => resolve())))

const tooLongLine = (bytes: number): string =>
  `error during container init: its mounts, words and variables take ${bytes} bytes; at most ${lineBytes} are possible`

/** A line that was damaged says nothing: a time or a process that is no number would be kept for good. */
const isReadable = (verb: string, agoMs: number, number: number): boolean =>
  Number.isFinite(agoMs) && (verb === 'failed' || (Number.isInteger(number) && (verb !== 'started' || number > 0)))

const startedProcess = ([pid, output = '', errors, input]: string[], atMs: number): StartedProcess => ({
  pid: Number(pid),
  atMs,
  output,
  ...(errors && errors !== dash && { errors }),
  ...(input && input !== dash && { input }),
})
