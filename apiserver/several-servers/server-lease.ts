import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { advertisedAddress, serverAddressAnnotation } from '../../shared/api/server-address.ts'
import type { KubeObject } from '../../shared/api/types.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { toMicroTime, toTime } from '../../shared/clock/timestamp.ts'
import type { Logger } from '../../shared/log/log.ts'
import { encodeObject } from '../kind/index.ts'
import { objectKey, startExpiry } from '../registry/index.ts'
import type { Storage, StorageWatch } from '../storage/engine.ts'

const leases = { group: 'coordination.k8s.io', plural: 'leases' }
const namespace = 'kube-system'
const prefix = objectKey(leases, namespace, 'apiserver-')
/** Upstream's interval; a server that has not written for three of them counts as gone. */
const renewMs = 10_000
const ttlMs = 3 * renewMs

interface ServerLeaseOptions {
  storage: Storage
  host: string
  clock: Clock
  log: Logger
}

/**
 * Tells the other servers by a Lease that this one is there, and knows of theirs. Upstream: the feature
 * APIServerIdentity, pkg/controlplane/controller/apiserverleasegc.
 */
export class ServerLease {
  readonly #storage: Storage
  readonly #clock: Clock
  readonly #log: Logger
  readonly #key: string
  readonly #object: KubeObject
  readonly #others = new Set<string>()
  readonly #watch: StorageWatch
  readonly #expiry: { close(): void }
  #timer: Timer | undefined
  #isClosed = false

  constructor({ storage, host, clock, log }: ServerLeaseOptions) {
    this.#storage = storage
    this.#clock = clock
    this.#log = log
    const name = `apiserver-${randomUUID().replaceAll('-', '')}`
    this.#key = objectKey(leases, namespace, name)
    const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver', 'kubernetes.io/hostname': hostname() }
    const annotations = { [serverAddressAnnotation]: advertisedAddress(host) }
    const metadata = { name, namespace, uid: randomUUID(), creationTimestamp: toTime(clock.now()), labels, annotations }
    this.#object = { metadata, spec: { holderIdentity: `${name}_${randomUUID()}`, leaseDurationSeconds: ttlMs / 1000 } }
    this.#watch = storage.watch({
      prefix,
      onEvents: (events) => {
        for (const { key, type } of events) this.#learn(key, type === 'put')
      },
    })
    this.#expiry = startExpiry({ storage, clock: clock.machine, prefix, ttlMs })
  }

  /** Resolves when the others can know of this one. */
  async start(): Promise<void> {
    for (const { key } of (await this.#storage.list({ prefix })).entries) this.#learn(key, true)
    await this.#renew()
    this.#wait()
  }

  /** Returns how many other servers have renewed their Leases lately. */
  others(): number {
    return this.#others.size
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#watch.close()
    this.#expiry.close()
    await this.#storage.delete({ key: this.#key }).catch(() => {}) // it expires by itself
  }

  #learn(key: string, isThere: boolean): void {
    if (isThere && key !== this.#key) this.#others.add(key)
    else this.#others.delete(key)
  }

  #wait(): void {
    const renew = (): void => {
      this.#renew()
        .catch((error: unknown) => this.#log.debug({ err: error }, 'the Lease of this server is renewed later'))
        .finally(() => this.#isClosed || this.#wait())
    }
    this.#timer = this.#clock.machine.setTimer(renewMs, renew, { background: true })
  }

  async #renew(): Promise<void> {
    const entry = await this.#storage.get(this.#key)
    const spec = { ...(this.#object.spec as object), renewTime: toMicroTime(this.#clock.now()) }
    const value = encodeObject({ ...this.#object, spec })
    // A server starts on a full disk, too: reads and deletes go on there.
    await this.#storage.put({ key: this.#key, value, expect: entry?.revision ?? 'absent', freeing: true })
  }
}
