import type { Clock } from '../../../shared/clock/clock.ts'
import type { Sandbox, SandboxConfig } from '../container-runtime.ts'
import { PodAddresses } from './addresses.ts'
import { newId } from './new-id.ts'
import type { RecordStore } from './record-store.ts'

/** The pods' sandboxes: a record and an address each. */
export class Sandboxes {
  readonly #store: RecordStore
  readonly #clock: Clock
  readonly #nodeIP: string
  readonly #addresses: PodAddresses
  readonly #sandboxes = new Map<string, Sandbox>()

  constructor({ store, clock, nodeIP }: { store: RecordStore; clock: Clock; nodeIP: string }) {
    this.#store = store
    this.#clock = clock
    this.#nodeIP = nodeIP
    this.#addresses = new PodAddresses(store.root)
  }

  get(id: string): Sandbox | undefined {
    return this.#sandboxes.get(id)
  }
  all(): IterableIterator<Sandbox> {
    return this.#sandboxes.values()
  }

  start(config: SandboxConfig): Sandbox {
    const ownAddress = !config.hostNetwork && process.platform === 'linux'
    const sandbox: Sandbox = {
      ...config,
      id: newId(),
      ip: ownAddress ? this.#addresses.take() : this.#nodeIP,
      state: 'ready',
      createdAtMs: this.#clock.now(),
    }
    this.#keep(sandbox)
    return sandbox
  }

  /** One that an earlier kubelet started. */
  adopt(sandbox: Sandbox): void {
    this.#sandboxes.set(sandbox.id, sandbox)
    if (!sandbox.hostNetwork && sandbox.state === 'ready') this.#addresses.keep(sandbox.ip)
  }

  /** Its address may be another's. */
  stop(sandbox: Sandbox): void {
    this.#keep({ ...sandbox, state: 'notReady' })
    if (!sandbox.hostNetwork) this.#addresses.give(sandbox.ip)
  }

  forget(id: string): void {
    this.#sandboxes.delete(id)
    this.#store.removeSandbox(id)
  }

  #keep(sandbox: Sandbox): void {
    this.#store.saveSandbox(sandbox)
    this.#sandboxes.set(sandbox.id, sandbox)
  }
}
