import type { Clock } from '../shared/clock/clock.ts'
import { collectGarbage } from '../shared/memory/collect-garbage.ts'

const lookMs = 1_000
/** V8 may keep this much of the memory that it once needed. */
const allowedGrowth = 16 * 1024 * 1024
/** Share of a core: below it no request has to wait. */
const idle = 0.1

/** Gives back what many pods at once have taken, when there is nothing else to do. Returns what ends that. */
export function giveBackMemory(clock: Clock): () => void {
  let keptBytes = 0
  let cpu = process.cpuUsage()
  let timer = clock.setTimer(lookMs, look, { background: true })
  async function look(): Promise<void> {
    const { user, system } = process.cpuUsage(cpu)
    if ((user + system) / 1000 < idle * lookMs && process.memoryUsage().heapTotal > keptBytes + allowedGrowth) {
      await collectGarbage()
      keptBytes = process.memoryUsage().heapTotal
    }
    cpu = process.cpuUsage()
    timer = clock.setTimer(lookMs, look, { background: true })
  }
  return () => timer.cancel()
}
