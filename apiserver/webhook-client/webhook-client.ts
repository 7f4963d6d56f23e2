import { parseExact } from '../../shared/api/json/exact-json.ts'
import { CallError, codeError } from '../../shared/client/call-errors.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { cutTo } from '../validation/cut-text.ts'
import { scanJson } from '../validation/json-scanner.ts'
import { jsonWord } from '../validation/json-word.ts'
import type { Answer } from './answer-reader.ts'
import { type ClientConfig, HTTPS_PORT, pemOf, type ResolveService, shownUrl, urlOf } from './client-config.ts'
import type { Connections, Target } from './connections.ts'

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
  let connections: Promise<Connections> | undefined
  return {
    async post(config, review, { timeoutSeconds, userAgent }) {
      const url = urlOf(config, timeoutSeconds)
      try {
        const target = targetOf(config, url, resolveService)
        connections ??= open(clock.machine)
        const options = { userAgent, timeoutMs: timeoutSeconds * 1000 }
        return objectOf(await (await connections).post(target, review, options))
      } catch (error) {
        if (error instanceof CallError) throw error
        throw new CallError(`Post ${JSON.stringify(shownUrl(url, config))}: ${(error as Error).message}`)
      }
    },
    close() {
      void connections?.then((open) => open.close())
    },
  }
}

/** Loads undici, which a server without webhooks does not need. */
async function open(clock: Clock): Promise<Connections> {
  const { Connections } = await import('./connections.ts')
  return new Connections(clock)
}

function targetOf(config: ClientConfig, url: URL, resolveService: ResolveService): Target {
  const { service } = config
  const { port = HTTPS_PORT } = service ?? {}
  return {
    url,
    host: service ? `${url.hostname}:${port}` : url.host,
    dialled: service
      ? resolveService({ ...service, port })
      : { address: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || HTTPS_PORT) },
    serverName: service || !isAddress(url.hostname) ? url.hostname : undefined,
    ca: pemOf(config),
  }
}

const isAddress = (host: string): boolean => /^[\d.]+$|^\[/.test(host)

/** Bounds the part of an answer that an error shows. */
const shownCharacters = 4 * 1024

/** Reads an answer as JSON, whatever its content type says. */
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
