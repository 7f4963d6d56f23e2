import { type RequestOptions, request } from 'node:https'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
}

/** One request and its whole answer. An answer that switches the protocol has 101 and no bytes; its connection ends. */
export function httpsExchange(options: RequestOptions, payload?: string | Buffer): Promise<Answer> {
  // Node does not frame the body of a DELETE by itself.
  const framed = payload !== undefined && { 'content-length': String(Buffer.byteLength(payload)) }
  return new Promise((resolve, reject) => {
    const asked = request({ ...options, headers: { ...framed, ...options.headers } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) }),
      )
    })
    asked.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.alloc(0) })
    })
    asked.on('error', reject)
    asked.end(payload)
  })
}
