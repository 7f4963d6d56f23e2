import type { IncomingMessage } from 'node:http'

export interface BodyLimits {
  maxBytes: number
  tooLarge(): Error
  /** The error for a body that breaks off. */
  brokenOff(): Error
  /** Receives how many bytes have arrived so far. An error that it returns refuses the body. */
  arrived?(bytes: number): Error | undefined
}

/**
 * Reads the whole body of a request. A body beyond the limit is discarded, so that the client reads the answer; the
 * promise rejects with `tooLarge`, or with the error of `arrived`. If the body breaks off, it rejects with `brokenOff`.
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, tooLarge, brokenOff, arrived }: BodyLimits,
): Promise<Buffer> {
  if (Number(request.headers['content-length']) > maxBytes) {
    request.resume()
    return Promise.reject(tooLarge())
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      const refusal = bytes > maxBytes ? tooLarge() : arrived?.(bytes)
      if (!refusal) return chunks.push(chunk)
      request.removeAllListeners('data')
      chunks.length = 0
      request.resume()
      reject(refusal)
    })
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)))
    request.on('error', () => reject(brokenOff()))
    request.on('aborted', () => reject(brokenOff()))
  })
}
