import { Agent, type RequestOptions, request } from 'node:https'
import type { Test } from 'tap'

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
  const ask = ({
    method = 'GET',
    path,
    headers,
    body,
    contentType = 'application/json',
  }: Question): Promise<Answer> => {
    const text = body && JSON.stringify(body)
    const options: RequestOptions = {
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
        ...(text && { 'content-type': contentType, 'content-length': String(Buffer.byteLength(text)) }),
        ...headers,
      },
    }
    return new Promise((resolve, reject) => {
      const asked = request(options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        )
      })
      asked.on('upgrade', (response, socket) => {
        socket.destroy()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: '' })
      })
      asked.on('error', reject)
      asked.end(text)
    })
  }
  return { ask, status: async (question) => (await ask(question)).status }
}
