import type { Clock } from '../../../shared/clock/clock.ts'
import type { ExpiryRule } from '../engine.ts'
import type { EtcdClient } from './client.ts'

interface Lease {
  id: Promise<string>
  /** Writes join it until then, or until it has `maxKeys`. */
  openUntilMs: number
  keys: number
}

/** Writes of this period share one lease, as upstream's do (etcd3/lease_manager.go): a lease per key is expensive. */
const openMs = 60_000
const maxKeys = 1_000

/** The leases of keys that expire. */
export class Leases {
  readonly #client: EtcdClient
  readonly #clock: Clock
  readonly #rules: ExpiryRule[] = []
  readonly #open = new Map<ExpiryRule, Lease>()

  constructor(client: EtcdClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  add(rule: ExpiryRule): void {
    this.#rules.push(rule)
  }

  /** The lease for a write of this key; undefined for one that stays. Rejects with a GrpcError. */
  async of(key: string): Promise<string | undefined> {
    const rule = this.#rules.find(({ prefix }) => key.startsWith(prefix))
    if (!rule) return undefined
    const now = this.#clock.monotonic()
    let lease = this.#open.get(rule)
    if (!lease || now >= lease.openUntilMs || lease.keys >= maxKeys) {
      const share = Math.min(openMs, rule.ttlMs / 20)
      lease = { id: this.#grant(rule, share), openUntilMs: now + share, keys: 0 }
      this.#open.set(rule, lease)
    }
    lease.keys++
    return lease.id
  }

  /** Grants a lease that outlives the last write which may join it by the rule's time. */
  async #grant(rule: ExpiryRule, shareMs: number): Promise<string> {
    const TTL = Math.max(1, Math.ceil((rule.ttlMs + shareMs) / 1000))
    try {
      return (await this.#client.call('leaseGrant', { TTL }, { isRepeatable: true })).ID
    } catch (error) {
      this.#open.delete(rule)
      throw error
    }
  }
}
