import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Status } from '../../shared/api/types.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError, UsageError } from '../../shared/config/option.ts'
import { withProgress } from '../terminal/progress.ts'
import { accessTo, type Place } from './cluster-access.ts'

export interface Question {
  method?: string
  /** `/kubestage/v1/…`, or any other of the API. */
  path: string
  body?: unknown
  /** Holds what is sent as it is, instead of `body`. */
  text?: string
  /** Says what a terminal shows when the answer takes long; by default that the server is asked. */
  doing?: string
}

/** A server that is stopped, or hangs, takes connections and is silent. What is asked may take its time. */
const connectMs = 10_000

/**
 * Asks the API server of the cluster that is meant, as its administrator. A refusal is an error in the server's words:
 * a UsageError where what was typed is wrong.
 */
export async function askServer<Answer>(place: Place, question: Question): Promise<Answer> {
  const answer = accessTo(place).then((access) => openAnswer(access, question).then(text))
  return JSON.parse(await withProgress(question.doing ?? 'Asking the API server', answer)) as Answer
}

/** Asks a node's kubelet, through the API server: also one that is lost to the cluster. Throws what either refuses. */
export async function askKubelet(access: ClusterAccess, node: string, question: Question): Promise<string> {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}/proxy${question.path}`
  return await text(await openAnswer(access, { ...question, path }))
}

/** The answer as it comes. */
export async function openAnswer(
  access: ClusterAccess,
  {
    method = 'GET',
    path,
    body,
    text: sent = body === undefined ? undefined : JSON.stringify(body),
  }: Omit<Question, 'doing'>,
  clock: Clock = realClock,
): Promise<IncomingMessage> {
  const payload = sent === undefined ? undefined : Buffer.from(sent)
  const headers = {
    ...(access.token && { authorization: `Bearer ${access.token}` }),
    ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
  }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { ...tlsOf(access), method, headers, agent: false }
    const outgoing = request(access.server + path, options, resolve)
    const timer = clock.setTimer(connectMs, () => outgoing.destroy(new Error(`no answer within ${connectMs / 1000} s`)))
    outgoing
      .on('socket', (socket) => socket.once('secureConnect', timer.cancel))
      .on('error', (error) => {
        timer.cancel()
        reject(unreachable(access, error))
      })
      .end(payload)
  })
  if (answer.statusCode === 200) return answer
  throw refusal(access, answer.statusCode ?? 0, await text(answer))
}

const unreachable = ({ server }: ClusterAccess, error: Error): ConfigError =>
  new ConfigError(`the API server ${server} cannot be reached: ${error.message}`)

function tlsOf({ ca, cert, key, tlsServerName, insecureSkipTlsVerify }: ClusterAccess): object {
  return {
    ca,
    cert,
    key,
    ...(tlsServerName && { servername: tlsServerName }),
    rejectUnauthorized: !insecureSkipTlsVerify,
  }
}

/** Codes by which a server, or a kubelet, says that it cannot make sense of what it was asked. */
const wrongRequest = new Set([400, 413, 422])

function refusal({ server }: ClusterAccess, code: number, body: string): ConfigError {
  const message = messageOf(body)
  if (wrongRequest.has(code)) return new UsageError(message)
  if (code === 404 && message === '404 page not found')
    return new ConfigError(`${server} is not a Kubestage API server: ${message}`)
  return new ConfigError(message)
}

function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as Status).message ?? body
  } catch {
    return body.trim()
  }
}
