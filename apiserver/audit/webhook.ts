import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import type { Logger } from '../../shared/log/log.ts'
import { AnswerReader } from '../webhook-client/answer-reader.ts'
import type { Connections, Target } from '../webhook-client/connections.ts'

export interface AuditWebhookOptions {
  /** Says where batches go, from a kubeconfig. */
  access: ClusterAccess
  maxSize: number
  maxWaitMs: number
  clock: Clock
  log: Logger
}

/** Upstream's limits. */
const maxWaiting = 10_000
const attempts = 5
const firstPauseMs = 10_000
const pauseFactor = 1.5
const requestTimeoutMs = 30_000
const maxAnswerBytes = 64 * 1024

/** Sends audit events to another server in batches. Events that find no room, or are not taken, are dropped. */
export class AuditWebhook {
  readonly #options: AuditWebhookOptions
  #waiting: string[] = []
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #connections: Promise<Connections> | undefined
  #isClosed = false

  constructor(options: AuditWebhookOptions) {
    this.#options = options
  }

  write(line: string): void {
    if (this.#waiting.length >= maxWaiting) {
      this.#options.log.error('audit webhook: events are dropped, it takes them too slowly')
      return
    }
    this.#waiting.push(line)
    const { maxSize, maxWaitMs, clock } = this.#options
    if (this.#waiting.length >= maxSize) this.#send()
    else this.#timer ??= clock.machine.setTimer(maxWaitMs, () => this.#send(), { background: true })
  }

  /** Sends what waits, once. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#send()
    await this.#sending
    ;(await this.#connections)?.close()
  }

  #send(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  async #sendAll(): Promise<void> {
    const { maxSize, clock, log } = this.#options
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, Math.max(1, maxSize))
      const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${batch.join(',')}]}`
      let pauseMs = firstPauseMs
      for (let attempt = 1; ; attempt++) {
        const failure = await this.#post(body).catch((error: Error) => error.message)
        if (failure === undefined) break
        log.error({ failure, events: batch.length, attempt }, 'audit webhook: a batch was not taken')
        if (attempt === attempts || this.#isClosed) break
        await clock.machine.sleep(pauseMs)
        pauseMs *= pauseFactor
      }
    }
  }

  /** Resolves to why the batch was not taken. */
  async #post(body: string): Promise<string | undefined> {
    const { access, clock } = this.#options
    const { cert, key } = access
    this.#connections ??= import('../webhook-client/connections.ts').then(
      ({ Connections }) => new Connections(clock.machine, cert && key ? () => ({ cert, key }) : undefined),
    )
    const connections = await this.#connections
    const url = new URL(access.server)
    const target: Target = {
      url,
      host: url.host,
      dialled: { address: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 443) },
      serverName: access.tlsServerName ?? (/^[\d.]+$|^\[/.test(url.hostname) ? undefined : url.hostname),
      ca: access.ca,
      insecure: access.insecureSkipTlsVerify,
    }
    return new Promise((resolve, reject) => {
      const answer = { what: 'the answer', maxBytes: maxAnswerBytes }
      const reader = new AnswerReader(
        answer,
        ({ code }) => {
          timer.cancel()
          resolve(code >= 200 && code < 300 ? undefined : `it answered ${code}`)
        },
        (error) => {
          timer.cancel()
          reject(error)
        },
      )
      const timer = clock.machine.setTimer(requestTimeoutMs, () => reader.abort(new Error('no answer in time')))
      const headers = {
        host: url.host,
        'content-type': 'application/json',
        'user-agent': 'kube-apiserver-admission',
        ...(access.token && { authorization: `Bearer ${access.token}` }),
      }
      const path = url.pathname + url.search
      connections.dispatch(target, { method: 'POST', path, headers, body, dialTimeoutMs: requestTimeoutMs }, reader)
    })
  }
}
