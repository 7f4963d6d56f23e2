/** Sends the requests of a case to one server. */
import { setTimeout as wait } from 'node:timers/promises'
import { encodeProtobuf } from '../../apiserver/protobuf/encode.ts'
import type { Case, Step } from './case.ts'

export interface Sent {
  method: string
  path: string
  headers: Record<string, string>
  body?: string | Buffer
}
export interface Received {
  status: number
  /** JSON, or text if it is none; a list of events of a stream. */
  body: unknown
  warnings: string[]
  /** The content type of the answer. */
  type?: string
}
/** Reads a stream until it is over, an event is about an object named `end`, or no event came for a while. */
export type Opened = () => Promise<Received>
export interface Server {
  send: (sent: Sent) => Promise<Received>
  /** Sends a request whose answer is a stream. */
  open: (sent: Sent) => Promise<Opened>
}

const maxTries = 100
const pauseMs = 50

export class Player {
  readonly #server: Server
  constructor(server: Server) {
    this.#server = server
  }

  /** Plays the steps, then removes what they made. The answers stand in the order of the steps. */
  async play({ steps }: Pick<Case, 'steps'>, name: string): Promise<Received[]> {
    const values = new Map([['name', name]])
    const pending: (Received | Opened)[] = []
    for (const step of steps) {
      if (step.stream) pending.push(await this.#server.open(sentOf(step, values)))
      else {
        const before = pending.at(-1)
        // What was refused does not come to be.
        const refused = before && 'status' in before && before.status >= 400
        const answer = refused ? await this.#server.send(sentOf(step, values)) : await this.#askUntil(step, values)
        for (const [key, path] of Object.entries(step.save ?? {})) values.set(key, savedOf(answer.body, path))
        pending.push(answer)
      }
    }
    const answers = await Promise.all(pending.map((answer) => (typeof answer === 'function' ? answer() : answer)))
    for (const path of [...madeBy(steps, answers)].reverse()) await this.#remove(path, values)
    return answers
  }

  async #askUntil(step: Step, values: Values): Promise<Received> {
    for (let tries = 0; ; tries++) {
      const answer = await this.#server.send(sentOf(step, values))
      if (step.until === undefined || answer.status === step.until || tries === maxTries) return answer
      await wait(pauseMs)
    }
  }

  async #remove(path: string, values: Values): Promise<void> {
    const ask = (step: Step): Promise<Received> => this.#server.send(sentOf(step, values))
    const removed = await ask({ method: 'DELETE', path, body: { gracePeriodSeconds: 0 } })
    const { kind, metadata } = (removed.body ?? {}) as { kind?: string; metadata?: { finalizers?: string[] } }
    if (kind === 'Namespace') {
      // Nobody else ends it: no controllers run.
      const body = { metadata: { name: path.split('/').at(-1) }, spec: { finalizers: [] } }
      await ask({ method: 'PUT', path: `${path}/finalize`, body })
    }
    if (!metadata?.finalizers || kind === 'CustomResourceDefinition') return
    const body = { metadata: { finalizers: null } }
    await ask({ method: 'PATCH', path, type: 'application/merge-patch+json', body })
  }
}

type Values = ReadonlyMap<string, string>

function sentOf({ method, path, type, accept, body, raw }: Step, values: Values): Sent {
  const filled = (text: string): string => text.replaceAll(/\{\{(\w+)\}\}/g, (all, key) => values.get(key) ?? all)
  const text = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const headers = {
    accept: accept ?? 'application/json',
    'user-agent': 'differential/1',
    ...(text !== undefined && { 'content-type': type ?? 'application/json' }),
  }
  return { method, path: filled(path), headers, ...(text !== undefined && { body: encoded(filled(text), type) }) }
}

/** An object in protobuf stands in its step as JSON. */
function encoded(text: string, type: string | undefined): string | Buffer {
  if (type !== 'application/vnd.kubernetes.protobuf' || !text.startsWith('{')) return text
  try {
    return encodeProtobuf(JSON.parse(text)) ?? text
  } catch {
    // An odd object has no such form.
    return text
  }
}

function savedOf(body: unknown, path: string): string {
  const value = path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], body)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : 'none'
}

/** Yields the paths of the objects that the steps made, in their order. */
function* madeBy(steps: readonly Step[], answers: readonly Received[]): Generator<string> {
  for (const [place, { method, path }] of steps.entries()) {
    const { status, body } = answers[place]!
    const name = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name
    if (status !== 201 || !name || path.includes('dryRun')) continue
    const collection = path.split('?')[0]!
    yield method === 'POST' ? `${collection}/${name}` : collection
  }
}
