import { statfs } from 'node:fs/promises'
import type { Clock, Timer } from '../../../../shared/clock/clock.ts'
import type { Container } from './container.ts'

export interface LayerUse {
  bytes: number
  inodes: number
  isFull: boolean
}

const none: LayerUse = { bytes: 0, inodes: 0, isFull: false }
const periodMs = 5_000
/**
 * A layer counts as full below this fraction of free space: a program that writes large parts fails before the last
 * block.
 */
const nearlyFull = 1 / 100

/** A container's layer is a file system of its own in memory, and all of it is counted there. */
export async function layerOf({ stored, record }: Container): Promise<LayerUse> {
  const found = stored.ownFiles ? await statfs(`/proc/${record.pid}/root`).catch(() => undefined) : undefined
  if (!found) return none
  const { blocks, bfree, bsize, files, ffree } = found
  return { bytes: (blocks - bfree) * bsize, inodes: files - ffree, isFull: bfree < blocks * nearlyFull || ffree === 0 }
}

/** Tells of layers that are full, each once until it has room again. */
export class LayerWatch {
  readonly #containers: () => Iterable<Container>
  readonly #onFull: (container: Container) => void
  readonly #full = new WeakSet<Container>()
  readonly #clock: Clock
  #timer: Timer | undefined
  #isClosed = false

  /** `clock`: the machine's. */
  constructor(containers: () => Iterable<Container>, clock: Clock, onFull: (container: Container) => void) {
    this.#containers = containers
    this.#clock = clock
    this.#onFull = onFull
    this.#lookLater()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  #lookLater(): void {
    if (!this.#isClosed) this.#timer = this.#clock.setTimer(periodMs, () => void this.#look(), { background: true })
  }

  async #look(): Promise<void> {
    for (const container of this.#containers()) {
      if (container.record.state !== 'running') continue
      const { isFull } = await layerOf(container)
      if (isFull && !this.#full.has(container)) this.#onFull(container)
      if (isFull) this.#full.add(container)
      else this.#full.delete(container)
    }
    this.#lookLater()
  }
}
