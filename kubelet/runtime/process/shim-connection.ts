import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import path from 'node:path'
import type { Clock } from '../../../shared/clock/clock.ts'
import { withinLimit } from '../../../shared/clock/within-limit.ts'
import { newId } from './new-id.ts'
import { runtimeDir } from './shim.ts'
import { decodeWords, encodeRequest } from './shim-words.ts'

/** What the shim tells of the processes it started. Times are the kubelet's own. */
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
  /** Where stderr has a pipe of its own. */
  errors?: string
  input?: string
}

/** How the shim is to start a process. */
export interface ShimRun {
  id: string
  /**
   * A container's or a sandbox's own process: its `id`. Others are commands in this container, and end with the kubelet
   * that asked for them.
   */
  containerId: string
  /** With a pipe as stdin instead of an empty file. */
  hasInput: boolean
  separateErrors: boolean
  /** Of new namespaces. */
  namespaceFlags: number
  /** A process whose PID namespace it joins. */
  besidePid?: number
  /** For `container.pl`. */
  steps: string[]
}

/** The line to a running shim. */
export interface ShimConnection {
  run(run: ShimRun): void
  /** Closes the shim's end of what a process reads. */
  closeInput(id: string): void
  /** Nothing of it is wanted any more. */
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

/**
 * Waits for the shim that a supervisor starts beside us, at most five seconds, and half a minute for its answer. All
 * that it knows has been told then; `known` are their ids.
 */
export async function connectShim(options: {
  rootDir: string
  clock: Clock
  listener: ShimListener
}): Promise<{ connection: ShimConnection; known: Set<string> }> {
  const { rootDir, clock } = options
  for (let attempt = 0; attempt < attempts; attempt++) {
    const pipes = openPipes(runtimeDir(rootDir))
    if (pipes) return greet(pipes, options)
    await clock.machine.sleep(retryMs)
  }
  throw new Error(
    `no shim answers in ${runtimeDir(rootDir)}: it starts the containers, and perl must be installed for it`,
  )
}

/** Undefined while no shim reads. */
function openPipes(root: string): { requests: number; events: number } | undefined {
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

async function greet(
  pipes: { requests: number; events: number },
  { clock, listener }: { clock: Clock; listener: ShimListener },
): Promise<{ connection: ShimConnection; known: Set<string> }> {
  const ready = Promise.withResolvers<void>()
  const known = new Set<string>()
  const requests = new Socket({ fd: pipes.requests, readable: false, writable: true })
  const events = new Socket({ fd: pipes.events, readable: true, writable: false })
  let isClosed = false
  const close = (): void => {
    isClosed = true
    requests.destroy()
    events.destroy()
  }
  const we = newId()
  // Before the shim's greeting stands what it told a kubelet that did not hear it any more: it is told again.
  let state: 'deaf' | 'learning' | 'ready' = 'deaf'
  const onLine = ([verb = '', id = '', ago = '', ...rest]: string[]): void => {
    if (state === 'deaf') {
      if (verb === 'greeting' && id === we) state = 'learning'
      return
    }
    if (verb === 'known') {
      state = 'ready'
      ready.resolve()
      return
    }
    if (state === 'learning') known.add(id)
    const atMs = clock.now() - Number(ago) * clock.scale
    if (!isReadable(verb, Number(ago), Number(rest[0]))) return
    if (verb === 'started') listener.started(id, startedProcess(rest, atMs))
    else if (verb === 'failed') listener.failed(id, { atMs, why: rest[0] ?? '' })
    else if (verb === 'exited') listener.exited(id, { atMs, code: Number(rest[0]) })
  }
  let unread = ''
  events.setEncoding('utf8')
  events.on('data', (data: string) => {
    const lines = (unread + data).split('\n')
    unread = lines.pop() ?? ''
    for (const line of lines) onLine(decodeWords(line))
  })
  requests.on('error', () => {})
  events.on('error', () => {})
  events.on('close', () => {
    if (isClosed) return
    close()
    if (state === 'ready') listener.lost()
    else ready.reject(new Error('the shim ended'))
  })
  const send = (...words: string[]): void => {
    if (!isClosed) requests.write(encodeRequest(words))
  }
  // An earlier kubelet may have died in the middle of a line.
  requests.write('\n')
  send('hello', we, String(process.pid))
  if (!(await withinLimit(ready.promise, answerMs, clock.machine))) {
    close()
    throw new Error(
      'the shim did not answer within 30 s; it answers one kubelet at a time: is another one running in this folder?',
    )
  }
  const connection: ShimConnection = {
    run({ id, containerId, hasInput, separateErrors, namespaceFlags, besidePid = 0, steps }) {
      const numbers = [hasInput ? 1 : 0, separateErrors ? 2 : 1, namespaceFlags, besidePid].map(String)
      send('run', id, containerId, ...numbers, ...steps)
    },
    closeInput: (id) => send('input', id),
    forget: (id) => send('forget', id),
    end: () => send('end'),
    async close() {
      const closed = Promise.all([requests, events].map(hasClosed))
      // What was said is heard: the pipe is the shim's as well. A shim that was stopped hears nothing.
      requests.end(close)
      if (!(await withinLimit(closed, farewellMs, clock.machine))) close()
    },
  }
  return { connection, known }
}

const hasClosed = (pipe: Socket): Promise<void> =>
  new Promise((resolve) => (pipe.closed ? resolve() : pipe.once('close', () => resolve())))

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
