import { createHash } from 'node:crypto'
import type { Client, Resource } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { Access, Asker, Reviews } from './access.ts'

const tokenReviews: Resource = { group: 'authentication.k8s.io', version: 'v1', plural: 'tokenreviews' }
const subjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
}

/**
 * KubeletConfiguration's defaults, in milliseconds: `authentication.webhook.cacheTTL`,
 * `authorization.webhook.cache(Un)authorizedTTL`.
 */
const tokenTtlMs = 120_000
const allowedTtlMs = 300_000
const refusedTtlMs = 30_000
const maxRemembered = 1_000

interface TokenReview {
  status?: {
    authenticated?: boolean
    user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> }
  }
}

/** Asks the API server, and remembers its answers for a while. */
export function createReviews({
  client,
  clock,
  nodeName,
}: {
  client: Client
  clock: Clock
  nodeName: string
}): Reviews {
  const users = new Remembered<Asker | undefined>(clock.machine)
  const answers = new Remembered<boolean>(clock.machine)
  return {
    userOf: (token) =>
      users.of(createHash('sha256').update(token).digest('base64'), async () => {
        const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
        const { status } = (await client.create<object>(tokenReviews, review)) as TokenReview
        const { username, uid, groups = [], extra } = status?.user ?? {}
        const user = status?.authenticated && username ? { name: username, uid, groups, extra } : undefined
        return { value: user, ttlMs: user ? tokenTtlMs : refusedTtlMs }
      }),
    isAllowed: (user, access) =>
      answers.of(JSON.stringify([user, access]), async () => {
        const value = await review(client, nodeName, user, access)
        return { value, ttlMs: value ? allowedTtlMs : refusedTtlMs }
      }),
  }
}

async function review(client: Client, nodeName: string, user: Asker, { verb, subresource }: Access): Promise<boolean> {
  const { name, uid, groups, extra } = user
  const resourceAttributes = { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName }
  const spec = { user: name, uid, groups, extra, resourceAttributes }
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
  const answer = (await client.create<object>(subjectAccessReviews, body)) as { status?: { allowed?: boolean } }
  return answer.status?.allowed ?? false
}

/** The newest answers, each for its time. */
class Remembered<Value> {
  readonly #clock: Clock
  readonly #entries = new Map<string, { value: Value; untilMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async of(key: string, ask: () => Promise<{ value: Value; ttlMs: number }>): Promise<Value> {
    const known = this.#entries.get(key)
    if (known && known.untilMs > this.#clock.monotonic()) return known.value
    const { value, ttlMs } = await ask()
    this.#entries.delete(key)
    this.#entries.set(key, { value, untilMs: this.#clock.monotonic() + ttlMs })
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxRemembered) break
      this.#entries.delete(oldest)
    }
    return value
  }
}
