import type { ContainerRecord, ReachedLimit, RuntimeEvent, Sandbox } from '../../container-runtime.ts'
import { type CriClient, isMissing } from '../api/client.ts'
import type { Read } from '../api/messages.ts'
import { recordOf } from './container-message.ts'
import { containerState, LABELS, sandboxState } from './labels.ts'
import { sandboxOf } from './sandbox-message.ts'

export interface PodRecordsOptions {
  client: CriClient
  /** Names the kubelet's root folder. */
  rootDir: string
  nodeIP: string
}

/** Bounds what is asked about at once. */
const asksAtOnce = 50
const lostExitCode = 255
const outOfMemory = 'OOMKilled'

/**
 * Reads the sandboxes and containers of this kubelet from the runtime, and tells what has changed since it last looked.
 * What cannot change any more is asked for once.
 */
export class PodRecords {
  readonly #options: PodRecordsOptions
  readonly #listeners = new Set<(event: RuntimeEvent) => void>()
  readonly #limitListeners = new Set<(reached: ReachedLimit) => void>()
  /** Maps containers to their records, with the state in the CRI's words. */
  readonly #containers = new Map<string, { state: number; record: ContainerRecord | undefined }>()
  readonly #sandboxes = new Map<string, Sandbox>()
  readonly #told = new Map<string, ContainerRecord['state']>()
  /** Containers that a reboot has ended. */
  readonly #lost = new Set<string>()
  #isPrimed = false

  constructor(options: PodRecordsOptions) {
    this.#options = options
  }

  /** Resolves to what there is, oldest first. Throws a CriError. */
  async list(podUid?: string): Promise<{ sandboxes: Sandbox[]; containers: ContainerRecord[] }> {
    const { client, rootDir } = this.#options
    const labelSelector = { [LABELS.kubelet]: rootDir, ...(podUid !== undefined && { [LABELS.podUid]: podUid }) }
    const [boxes, made] = await Promise.all([
      client.call('listPodSandbox', { filter: { labelSelector } }),
      client.call('listContainers', { filter: { labelSelector } }),
    ])
    this.#forgetOthers(podUid, new Set([...boxes.items, ...made.containers].map(({ id }) => id)))
    const sandboxes = await inParts(boxes.items.toSorted(byAge), (box) => this.#sandbox(box))
    const containers = await inParts(made.containers.toSorted(byAge), (container) => this.#container(container))
    this.#isPrimed ||= podUid === undefined
    return { sandboxes: sandboxes.filter(isThere), containers: containers.filter(isThere) }
  }

  /** Looks at one container or sandbox again. */
  async refresh(id: string): Promise<void> {
    const { client, rootDir } = this.#options
    const filter = { id, labelSelector: { [LABELS.kubelet]: rootDir } }
    const { containers } = await client.call('listContainers', { filter })
    for (const container of containers) await this.#container(container)
    if (containers.length > 0) return
    const { items } = await client.call('listPodSandbox', { filter })
    for (const box of items) await this.#sandbox(box)
  }

  /** Returns the record of a container that has just been started, which is told. */
  async started(id: string, podUid: string): Promise<ContainerRecord> {
    this.#tell(id, podUid, 'running')
    const { client } = this.#options
    const { containers } = await client.call('listContainers', { filter: { id } })
    const record = containers[0] && (await this.#container(containers[0]))
    if (!record) throw new Error(`container ${id} is gone`)
    return record
  }

  async sandbox(id: string): Promise<Sandbox | undefined> {
    const known = this.#sandboxes.get(id)
    if (known) return known
    const { items } = await this.#options.client.call('listPodSandbox', { filter: { id } })
    return items[0] && this.#sandbox(items[0])
  }

  async container(id: string): Promise<ContainerRecord | undefined> {
    const { containers } = await this.#options.client.call('listContainers', { filter: { id } })
    const found = containers.find((container) => container.id === id)
    return found && this.#container(found)
  }

  /** The machine lost its power, and these containers with it. */
  lose(ids: readonly string[]): void {
    for (const id of ids) {
      this.#lost.add(id)
      this.#containers.delete(id)
    }
  }

  onEvent(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  onLimit(listener: (reached: ReachedLimit) => void): () => void {
    this.#limitListeners.add(listener)
    return () => void this.#limitListeners.delete(listener)
  }

  close(): void {
    this.#listeners.clear()
    this.#limitListeners.clear()
  }

  async #container(container: Read<'Container'>): Promise<ContainerRecord | undefined> {
    const { client } = this.#options
    const known = this.#containers.get(container.id)
    if (known?.state === container.state) return known.record
    const verbose = container.state === containerState.running
    const answer = await client
      .call('containerStatus', { containerId: container.id, verbose })
      .catch((error: unknown) => {
        if (isMissing(error)) return undefined
        throw error
      })
    if (!answer?.status) return undefined
    const found = recordOf(container, answer.status, pidOf(answer.info))
    const isLost = found?.state === 'exited' && this.#lost.has(container.id)
    const record = isLost ? { ...found, exitCode: lostExitCode, reason: 'Unknown' } : found
    // Another call may have seen a later state meanwhile.
    const now = this.#containers.get(container.id)
    if (now?.record?.state === 'exited') return now.record
    this.#containers.set(container.id, { state: answer.status.state, record })
    if (record) this.#noteState(record)
    return record
  }

  async #sandbox(box: Read<'PodSandbox'>): Promise<Sandbox | undefined> {
    const { client, nodeIP } = this.#options
    const known = this.#sandboxes.get(box.id)
    const state = box.state === sandboxState.ready ? 'ready' : 'notReady'
    if (known?.state === state) return known
    const ip = known && known.ip !== nodeIP ? known.ip : await this.#addressOf(client, box.id)
    if (ip === undefined) return undefined
    const sandbox = sandboxOf(box, { ip, nodeIP })
    this.#sandboxes.set(box.id, sandbox)
    if (known?.state === 'ready' && state === 'notReady') this.#emit('exited', sandbox.podUid, sandbox.id)
    return sandbox
  }

  async #addressOf(client: CriClient, podSandboxId: string): Promise<string | undefined> {
    try {
      const { status } = await client.call('podSandboxStatus', { podSandboxId })
      return status?.network?.ip ?? ''
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  #noteState(record: ContainerRecord): void {
    const { id, podUid, state, name, reason } = record
    if (!this.#isPrimed) {
      this.#told.set(id, state)
      return
    }
    const isNew = state === 'exited' && this.#told.get(id) !== 'exited'
    // It began and ended between two looks.
    if (isNew && reason !== 'StartError') this.#tell(id, podUid, 'running')
    this.#tell(id, podUid, state)
    if (!isNew || reason !== outOfMemory) return
    for (const listener of [...this.#limitListeners]) listener({ limit: 'memory', podUid, container: name })
  }

  #tell(id: string, podUid: string, state: ContainerRecord['state']): void {
    const before = this.#told.get(id)
    if (before === state || before === 'exited') return
    this.#told.set(id, state)
    this.#emit(state === 'running' ? 'started' : 'exited', podUid, id)
  }

  #emit(type: RuntimeEvent['type'], podUid: string, containerId: string): void {
    for (const listener of [...this.#listeners]) listener({ type, podUid, containerId })
  }

  #forgetOthers(podUid: string | undefined, ids: ReadonlySet<string>): void {
    const isOf = (found: { podUid: string } | undefined): boolean => podUid === undefined || found?.podUid === podUid
    for (const [id, { record }] of this.#containers) {
      if (ids.has(id) || !isOf(record)) continue
      this.#containers.delete(id)
      this.#told.delete(id)
      this.#lost.delete(id)
    }
    for (const [id, sandbox] of this.#sandboxes) if (!ids.has(id) && isOf(sandbox)) this.#sandboxes.delete(id)
  }
}

const byAge = (one: { createdAt: number }, other: { createdAt: number }): number => one.createdAt - other.createdAt
const isThere = <T>(found: T | undefined): found is T => found !== undefined

async function inParts<In, Out>(all: readonly In[], work: (one: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = []
  for (let at = 0; at < all.length; at += asksAtOnce)
    done.push(...(await Promise.all(all.slice(at, at + asksAtOnce).map(work))))
  return done
}

/** Reads the process ID, which runtimes give as JSON in a field of their own; 0 if they do not. */
export function pidOf({ info = '{}' }: Record<string, string>): number {
  try {
    const { pid } = JSON.parse(info) as { pid?: unknown }
    return typeof pid === 'number' && pid > 1 ? pid : 0
  } catch {
    return 0
  }
}
