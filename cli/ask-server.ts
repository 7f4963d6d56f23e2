import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Status } from '../shared/api/types.ts'
import { ConfigError } from '../shared/config/option.ts'
import { adminAccess } from './admin-access.ts'
import { withProgress } from './progress.ts'
import { requireRunning } from './running.ts'

export interface Question {
  method?: string
  /** `/kubestage/v1/…` */
  path: string
  body?: unknown
  /** What a terminal shows when the answer takes long. Default: that it is asked for. */
  doing?: string
}

/** Asks the API server of the cluster that runs there, as its administrator. A refusal is a ConfigError in the server's words. */
export async function askServer<Answer>(stateDir: string, question: Question): Promise<Answer> {
  const answer = openAnswer(stateDir, question).then(text)
  return JSON.parse(await withProgress(question.doing ?? 'Asking the API server', answer)) as Answer
}

/** The answer as it comes. */
export async function openAnswer(stateDir: string, { method = 'GET', path, body }: Question): Promise<IncomingMessage> {
  const { server, ca, cert, key } = adminAccess(requireRunning(stateDir))
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const headers = payload && { 'content-type': 'application/json', 'content-length': payload.length }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(server + path, { method, ca, cert, key, headers, agent: false }, resolve)
      .on('error', (error) => reject(new ConfigError(`the API server ${server} cannot be reached: ${error.message}`)))
      .end(payload)
  })
  if (answer.statusCode === 200) return answer
  throw new ConfigError(messageOf(await text(answer)))
}

function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as Status).message ?? body
  } catch {
    return body.trim()
  }
}
