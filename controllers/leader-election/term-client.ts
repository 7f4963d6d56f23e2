import type { Client } from '../../shared/client/client.ts'
import { wrappedClient } from '../../shared/client/wrapped-client.ts'
import type { Term } from './term.ts'

/**
 * Wraps the client for a leader's loops. When the term ends, the client sends nothing more, and pending calls reject
 * with a TermOverError, whatever becomes of their requests.
 */
export function termClient(client: Client, term: Term): Client {
  const pending = new Set<(reason: unknown) => void>()
  const giveUp = (): void => {
    for (const reject of pending) reject(term.signal.reason)
    pending.clear()
  }
  if (term.signal.aborted) giveUp()
  else term.signal.addEventListener('abort', giveUp, { once: true })

  const during = <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
    if (!term.isHeld()) return Promise.reject(term.signal.reason)
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    pending.add(reject)
    call()
      .then(resolve, reject)
      .finally(() => pending.delete(reject))
    return promise
  }
  return wrappedClient(client, during)
}
