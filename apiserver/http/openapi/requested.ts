import { parseAccept } from '../encode/negotiation.ts'
import { sendNothing } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'

const json = new Set(['*/*', 'application/*', 'application/json'])

/** Documents are JSON; a client that accepts only other types gets a 406 without a body. */
export function requestedDocument(exchange: Exchange): boolean {
  const { accept } = exchange.request.headers
  if (!accept || parseAccept(accept).some(({ type }) => json.has(type))) return true
  sendNothing(exchange, 406)
  return false
}
