/** Sends the requests of a case to one server. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Case, Step } from './case.ts'

export interface Sent {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}
export interface Received {
  status: number
  /** JSON, or text if it is none. */
  body: unknown
  warnings: string[]
}
const maxTries = 100
const pauseMs = 50
export type Send = (sent: Sent) => Promise<Received>

const filled = (text: string, name: string): string => text.replaceAll('{{name}}', name)

export class Player {
  readonly #send: Send
  constructor(send: Send) {
    this.#send = send
  }

  /** Plays the steps, then removes what they made. The answers stand in the order of the steps. */
  async play({ steps }: Pick<Case, 'steps'>, name: string): Promise<Received[]> {
    const answers: Received[] = []
    for (const step of steps) answers.push(await this.#askUntil(step, name))
    for (const [place, { method, path }] of steps.entries()) {
      const { status, body } = answers[place]!
      const made = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name
      if (method === 'POST' && status === 201 && made && !path.includes('dryRun'))
        await this.#remove(`${path.split('?')[0]}/${made}`, name)
    }
    return answers
  }

  async #askUntil(step: Step, name: string): Promise<Received> {
    for (let tries = 0; ; tries++) {
      const answer = await this.#ask(step, name)
      if (step.until === undefined || answer.status === step.until || tries === maxTries) return answer
      await wait(pauseMs)
    }
  }

  async #ask({ method, path, type, accept, body, raw }: Step, name: string): Promise<Received> {
    const text = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const headers = {
      accept: accept ?? 'application/json',
      'user-agent': 'differential/1',
      ...(text !== undefined && { 'content-type': type ?? 'application/json' }),
    }
    return this.#send({
      method,
      path: filled(path, name),
      headers,
      ...(text !== undefined && { body: filled(text, name) }),
    })
  }

  async #remove(path: string, name: string): Promise<void> {
    const removed = await this.#ask({ method: 'DELETE', path, body: { gracePeriodSeconds: 0 } }, name)
    const { metadata } = (removed.body ?? {}) as { metadata?: { finalizers?: string[] } }
    if (!metadata?.finalizers) return
    const body = { metadata: { finalizers: null } }
    await this.#ask({ method: 'PATCH', path, type: 'application/merge-patch+json', body }, name)
  }
}
