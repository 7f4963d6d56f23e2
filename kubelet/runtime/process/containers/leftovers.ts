import type { Clock } from '../../../../shared/clock/clock.ts'
import { sendSignal } from '../../signals.ts'
import { markedProcesses, marker, markerOf } from '../marker.ts'
import { type Container, killContainer } from './container.ts'

/** Kills whatever a container started and left, wherever it went: found by its mark. */
export class Leftovers {
  readonly #root: string
  readonly #clock: Clock
  #scan: Promise<Map<string, number[]>> | undefined
  #nextScan = 0

  constructor({ runtimeRoot, clock }: { runtimeRoot: string; clock: Clock }) {
    this.#root = runtimeRoot
    this.#clock = clock.machine
  }

  async kill(containers: Container[]): Promise<void> {
    const started = containers.filter(({ record }) => record.pid !== 0)
    for (const container of started) {
      const { stored, record } = container
      // With process 1 all of its namespace has ended.
      const isLeft =
        record.state === 'running' ||
        (stored.processes !== 'own' && markerOf(record.pid) === marker(this.#root, stored.id))
      if (isLeft) killContainer(container)
    }
    const scattered = started.filter(({ stored }) => stored.processes !== 'own')
    if (scattered.length === 0 || process.platform !== 'linux') return
    const marked = await this.#scanProcesses()
    for (const { stored } of scattered) {
      for (const pid of marked.get(marker(this.#root, stored.id)) ?? []) sendSignal(pid, 'SIGKILL')
    }
  }

  /**
   * Walks through /proc once for all callers that wait meanwhile. Under load it waits between walks, so that walking
   * takes at most a quarter of the time.
   */
  #scanProcesses(): Promise<Map<string, number[]>> {
    this.#scan ??= this.#clock.sleep(Math.max(0, this.#nextScan - this.#clock.monotonic())).then(() => {
      const startedAt = this.#clock.monotonic()
      const found = markedProcesses()
      this.#nextScan = this.#clock.monotonic() + 3 * (this.#clock.monotonic() - startedAt)
      this.#scan = undefined
      return found
    })
    return this.#scan
  }
}
