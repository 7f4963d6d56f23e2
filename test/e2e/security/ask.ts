import { Agent } from 'node:https'
import type { Test } from 'tap'
import { httpsExchange } from '../../harness/https-exchange.ts'

export interface Question {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: object
  contentType?: string
}
export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}
/** One client with its credentials, or without any. */
export interface Asker {
  ask(question: Question): Promise<Answer>
  /** The status alone; an answer that switches the protocol has 101. */
  status(question: Question): Promise<number>
}
export interface Credentials {
  cert?: string
  key?: string
  token?: string
  headers?: Record<string, string>
}

/** A client of one server; its connections end with the test. */
export function askerOf(t: Test, base: { host: string; port: number; ca?: string }, who: Credentials = {}): Asker {
  const { cert, key, token } = who
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.teardown(() => agent.destroy())
  const ask = async ({
    method = 'GET',
    path,
    headers,
    body,
    contentType = 'application/json',
  }: Question): Promise<Answer> => {
    const text = body && JSON.stringify(body)
    const { bytes, ...answer } = await httpsExchange(
      {
        host: base.host,
        port: base.port,
        // By the address that was dialed, whatever the Host header says.
        ...(base.ca ? { ca: base.ca, checkServerIdentity: () => undefined } : { rejectUnauthorized: false }),
        ...(cert && { cert, key }),
        agent,
        method,
        path,
        headers: {
          ...who.headers,
          ...(token && { authorization: `Bearer ${token}` }),
          ...(text && { 'content-type': contentType }),
          ...headers,
        },
      },
      text,
    )
    return { ...answer, body: bytes.toString('utf8') }
  }
  return { ask, status: async (question) => (await ask(question)).status }
}
