import type { IncomingMessage } from 'node:http'
import { badRequest, requestEntityTooLarge } from '../../shared/api/status-errors.ts'
import type { LimitName } from './limits/limits.ts'

/** The whole body. Rejects with a StatusError: 413 for more than `maxBytes`, 400 for one that breaks off. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) {
        request.removeAllListeners('data')
        request.resume()
        const tooLarge = requestEntityTooLarge(`Request entity too large: limit is ${maxBytes}`)
        reject(tooLarge.atLimit('maxRequestBodyBytes' satisfies LimitName))
      } else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)))
    request.on('error', () => reject(badRequest('unexpected EOF')))
    request.on('aborted', () => reject(badRequest('unexpected EOF')))
  })
}
