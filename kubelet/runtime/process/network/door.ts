import { type ChildProcess, execFile, spawn } from 'node:child_process'
import type { Socket as DatagramSocket } from 'node:dgram'
import { type Server, Socket } from 'node:net'
import path from 'node:path'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../../../shared/clock/clock.ts'
import { withinLimit } from '../../../../shared/clock/within-limit.ts'
import { defaultPath } from '../../default-path.ts'
import { systemCalls } from '../shim/system-calls.ts'

/** Maps each request to what the door hands over. */
interface Handles {
  connect: Socket
  listen: Server
  bind: DatagramSocket
}
interface Answer {
  id: number
  errno?: number
  what?: string
}

const program = path.join(import.meta.dirname, 'door.pl')
/** Limits the door's answers. It waits for nothing but connections, which have their own limit. */
const ANSWER_MS = 10_000

/** Resolves to the reason why pods can have no networks here, which is found by trial; undefined: they can. */
export const whyNoNetworks = (): Promise<string | undefined> => whyNot('try')

/** Resolves to the reason why nodes can have no tunnel here, in the same way. */
export const whyNoTunnel = async (): Promise<string | undefined> =>
  process.getuid?.() === 0 ? whyNot('try-tunnel') : 'that needs root'

function whyNot(trial: 'try' | 'try-tunnel'): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('perl', [program, trial, ...systemCalls()], { env: { PATH: defaultPath } }, (error, stdout) =>
      resolve(error ? stdout.trim() || error.message : undefined),
    )
  })
}

/**
 * The kubelet's process in the network of the node, see `door.pl`: Linux lets a thread be in one network only, and
 * those of Node are in the machine's.
 */
export class Door {
  readonly #child: ChildProcess
  readonly #clock: Clock
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>()
  #last = 0
  #complaint = ''

  /** Opens the network that this file is. */
  constructor(file: string, { clock, onEnd }: { clock: Clock; onEnd(): void }) {
    this.#clock = clock
    this.#child = spawn('perl', [program, file, ...systemCalls()], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { PATH: defaultPath },
    })
    this.#child.on('message', (answer: Answer, handle) => this.#onAnswer(answer, handle))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#complaint ||= text.trim()
    })
    const ended = (): void => {
      onEnd()
      for (const { reject } of this.#asked.values()) reject(new Error(`the network's door ended. ${this.#complaint}`))
      this.#asked.clear()
    }
    this.#child.on('error', ended).on('close', ended)
    this.#child.unref()
    this.#child.channel?.unref()
  }

  /** Builds in the network; see `door.pl` for the words. Rejects with what failed. */
  async build(
    verb:
      | 'bridge'
      | 'address'
      | 'pod'
      | 'link'
      | 'services'
      | 'marked'
      | 'neighbour'
      | 'tunnel'
      | 'rules'
      | 'sets'
      | 'forget'
      | 'serve'
      | 'lost'
      | 'sctp',
    ...words: (string | number)[]
  ): Promise<void> {
    await this.#ask(verb, words, ANSWER_MS)
  }

  /** Rejects with an error that has the code of a socket's. */
  async socket<Verb extends keyof Handles>(
    verb: Verb,
    words: (string | number)[],
    limitMs = ANSWER_MS,
  ): Promise<Handles[Verb]> {
    return (await this.#ask(verb, words, limitMs)) as Handles[Verb]
  }

  close(): void {
    this.#child.kill('SIGKILL')
  }

  async #ask(verb: string, words: (string | number)[], limitMs: number): Promise<unknown> {
    const id = ++this.#last
    const asked = Promise.withResolvers<unknown>()
    this.#asked.set(id, asked)
    this.#child.send([id, verb, ...words].join('\t'), (error) => error && asked.reject(error))
    try {
      if (await withinLimit(asked.promise, limitMs, this.#clock.machine)) return await asked.promise
      throw Object.assign(new Error(`the network's door did not answer to ${verb}`), { code: 'ETIMEDOUT' })
    } finally {
      this.#asked.delete(id)
    }
  }

  #onAnswer({ id, errno, what = '' }: Answer, handle: unknown): void {
    const asked = this.#asked.get(id)
    if (!asked) close(handle)
    else if (errno === undefined) asked.resolve(handle)
    else {
      const code = getSystemErrorName(-errno)
      asked.reject(Object.assign(new Error(`${what}: ${code}`), { code }))
    }
  }
}

/** No request waits for it any more. */
function close(handle: unknown): void {
  if (handle instanceof Socket) handle.destroy()
  else if (handle && 'close' in (handle as object)) (handle as { close(): void }).close()
}
