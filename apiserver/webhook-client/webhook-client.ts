import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { parseExact } from '../../shared/api/exact-json.ts'
import { Gathered } from '../../shared/client/gathered.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { cutTo } from '../validation/cut-text.ts'
import { scanJson } from '../validation/json-scanner.ts'
import { jsonWord } from '../validation/json-word.ts'
import { CallError, checkServerIdentity, codeError, transportError } from './call-errors.ts'
import { type ClientConfig, pemOf, type ResolveService, shownUrl, urlOf } from './client-config.ts'

/** Asks other programs what they think of an object. */
export interface WebhookClient {
  /** Posts a review; resolves to the answer, an object that says its kind. Rejects with a CallError. */
  post(config: ClientConfig, review: string, options: PostOptions): Promise<Record<string, unknown>>
  /** Ends what is under way. */
  close(): void
}

export interface PostOptions {
  timeoutSeconds: number
  userAgent: string
}

/** Authorities whose connections are kept. */
const maxAgents = 64

/**
 * Connections are kept, for each authority its own. Time is the machine's: webhooks do not get faster with the clock.
 */
export function createWebhookClient({
  clock,
  resolveService,
}: {
  clock: Clock
  resolveService: ResolveService
}): WebhookClient {
  const agents = new Map<string, Agent>()
  const agentFor = (config: ClientConfig): Agent => {
    const id = config.caBundle ?? ''
    const known = agents.get(id)
    if (known) return known
    const [oldest] = agents.keys()
    if (agents.size >= maxAgents && oldest !== undefined) {
      agents.get(oldest)?.destroy()
      agents.delete(oldest)
    }
    // A bundle may contain the webhook's own certificate, which is then trusted, as in Go.
    const agent = new Agent({ keepAlive: true, ca: pemOf(config), allowPartialTrustChain: true, checkServerIdentity })
    agents.set(id, agent)
    return agent
  }

  return {
    async post(config, review, { timeoutSeconds, userAgent }) {
      const url = urlOf(config, timeoutSeconds)
      try {
        const { service } = config
        const dialled = service
          ? resolveService({ ...service, port: service.port ?? 443 })
          : { address: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 443) }
        const answer = await send(
          {
            agent: agentFor(config),
            host: dialled.address,
            port: dialled.port,
            servername: service || !isAddress(url.hostname) ? url.hostname : undefined,
            path: url.pathname + url.search,
            headers: {
              host: service ? `${url.hostname}:${service.port ?? 443}` : url.host,
              'user-agent': userAgent,
              accept: 'application/json, */*',
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(review),
            },
          },
          review,
          { clock: clock.machine, timeoutMs: timeoutSeconds * 1000 },
        )
        return objectOf(answer)
      } catch (error) {
        if (error instanceof CallError) throw error
        throw new CallError(`Post ${JSON.stringify(shownUrl(url, config))}: ${(error as Error).message}`)
      }
    },
    close() {
      for (const agent of agents.values()) agent.destroy()
    },
  }
}

const isAddress = (host: string): boolean => /^[\d.]+$|^\[/.test(host)

interface Answer {
  code: number
  body: string
}

/** Never retried: the webhook may have acted on the review before it closed the connection. */
function send(
  options: RequestOptions & { host: string; port: number },
  body: string,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(new Error(transportError(error, options)))
    const outgoing = httpsRequest({ ...options, method: 'POST' }, (answer) => {
      const most = leastAnswerBytes + answerPerReview * Buffer.byteLength(body)
      readAll(answer, most).then((text) => resolve({ code: answer.statusCode ?? 0, body: text }), fail)
    })
    outgoing.on('error', fail)
    const timer = clock.setTimer(timeoutMs, () => {
      reject(new Error('context deadline exceeded'))
      outgoing.destroy()
    })
    outgoing.on('close', () => timer.cancel())
    outgoing.end(body)
  })
}

/**
 * What an answer may have: a patch, or the objects that were asked to be converted. Go's client reads without a limit.
 */
const leastAnswerBytes = 4 * 1024 * 1024
const answerPerReview = 2

async function readAll(answer: IncomingMessage, most: number): Promise<string> {
  const body = new Gathered("the webhook's answer", most)
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (body.length + chunk.length > most) throw new Error('http: response body too large')
    body.add(chunk)
  }
  return body.take().toString('utf8')
}

/** Of an answer that is shown in an error. */
const shownCharacters = 4 * 1024

/** Whatever it calls itself, it is read as JSON. */
function objectOf({ code, body }: Answer): Record<string, unknown> {
  if (code < 200 || code > 206) throw new CallError(codeError(code, cutTo(body, shownCharacters)))
  const unreadable = (why: string) => new CallError(`couldn't get version/kind; json parse error: ${why}`)
  let value: unknown
  try {
    value = parseExact(body)
  } catch {
    throw unreadable(scanJson(body).error ?? 'unexpected end of JSON input')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const word = jsonWord(value)
    throw unreadable(
      `json: cannot unmarshal ${word} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    )
  }
  const answer = value as Record<string, unknown>
  if (typeof answer.kind !== 'string' || answer.kind === '')
    throw new CallError(`Object 'Kind' is missing in '${cutTo(body, shownCharacters)}'`)
  return answer
}
