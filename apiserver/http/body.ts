import type { IncomingMessage } from 'node:http'
import { badRequest, requestEntityTooLarge } from '../../shared/api/status-errors.ts'

export const maxBodyBytes = 3 * 1024 * 1024

/** The whole body; refuses more than a real server takes. */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBodyBytes) {
        request.removeAllListeners('data')
        request.resume()
        reject(requestEntityTooLarge(`Request entity too large: limit is ${maxBodyBytes}`))
      } else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)))
    request.on('error', () => reject(badRequest('unexpected EOF')))
    request.on('aborted', () => reject(badRequest('unexpected EOF')))
  })
}
