import http from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'

/** Sends one request; resolves to the status and the text of the answer, rejects after `timeoutMs` without one. */
export function ask(url, { body, timeoutMs = 5_000, ...options } = {}) {
  const { request } = url.startsWith('https:') ? https : http
  return new Promise((resolve, reject) => {
    const asked = request(url, { ...options, signal: AbortSignal.timeout(timeoutMs) }, (answer) =>
      text(answer).then((said) => resolve({ status: answer.statusCode, said }), reject),
    )
    asked.on('error', reject)
    asked.end(body)
  })
}
