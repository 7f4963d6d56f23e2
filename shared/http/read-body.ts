import type { IncomingMessage } from 'node:http'

export interface BodyLimits {
  maxBytes: number
  /** The error for a body of more bytes. */
  tooLarge(): Error
  /** The error for a body that breaks off. */
  brokenOff(): Error
}

/**
 * Reads the whole body of a request. A body beyond the limit is discarded, so that the client reads the answer; the
 * promise rejects with `tooLarge`. If the body breaks off, it rejects with `brokenOff`.
 */
export function readBody(request: IncomingMessage, { maxBytes, tooLarge, brokenOff }: BodyLimits): Promise<Buffer> {
  if (Number(request.headers['content-length']) > maxBytes) {
    request.resume()
    return Promise.reject(tooLarge())
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) {
        request.removeAllListeners('data')
        request.resume()
        reject(tooLarge())
      } else chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)))
    request.on('error', () => reject(brokenOff()))
    request.on('aborted', () => reject(brokenOff()))
  })
}
