import { isDeepStrictEqual } from 'node:util'
import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { Lease } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { leases } from '../../shared/client/resources.ts'

/** Holds what a Lease says about its leader. Without a leader, `holderIdentity` is empty. */
export interface Election {
  holderIdentity: string
  leaseDurationSeconds: number
  acquireTime: string
  renewTime: string
  leaseTransitions: number
}

/** Uses a Lease as a lock: each write requires the version that was read last. Upstream: resourcelock/leaselock.go. */
export class LeaseLock {
  readonly namespace: string
  readonly name: string
  readonly #client: Client
  #lease: Lease | undefined

  constructor(client: Client, { namespace, name }: { namespace: string; name: string }) {
    this.#client = client
    this.namespace = namespace
    this.name = name
  }

  /** The Lease as it was read or written last. */
  get lease(): Lease | undefined {
    return this.#lease
  }

  /** Resolves to undefined if there is no Lease. */
  async read(): Promise<Election | undefined> {
    this.#lease = await this.#client
      .get<Lease>(leases, { namespace: this.namespace, name: this.name })
      .catch(ignoreNotFound)
    return this.#lease && electionOf(this.#lease)
  }

  /** Rejects with AlreadyExists if another candidate created the Lease. */
  async create(spec: Election): Promise<void> {
    const metadata = { namespace: this.namespace, name: this.name }
    this.#lease = (await this.#client.create<object>(leases, { metadata, spec })) as Lease
  }

  /** Rejects with Conflict if another write came first. */
  async update(spec: Election): Promise<void> {
    if (!this.#lease) throw new Error('the Lease was not read yet')
    this.#lease = (await this.#client.update<object>(leases, { ...this.#lease, spec })) as Lease
  }
}

/** Reads a Lease; missing fields have Go's zero values. */
export function electionOf({ spec }: Lease): Election {
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } = spec ?? {}
  return {
    holderIdentity: holderIdentity ?? '',
    leaseDurationSeconds: leaseDurationSeconds ?? 0,
    acquireTime: String(acquireTime ?? ''),
    renewTime: String(renewTime ?? ''),
    leaseTransitions: leaseTransitions ?? 0,
  }
}

export const isSame = (one: Election | undefined, other: Election): boolean => isDeepStrictEqual(one, other)
