import type { Clock } from '../shared/clock/clock.ts'
import { measureBusyShare } from '../shared/memory/busy-share.ts'
import { collectGarbage } from '../shared/memory/collect-garbage.ts'

const lookMs = 1_000
/** V8 may keep this much of the memory that it once needed. */
const allowedGrowth = 16 * 1024 * 1024
/** Share of the time in which the event loop does not wait: below it no request has to wait for a collection. */
const idle = 0.1
/** A pod that is being deleted often ends within a second: between two bursts of pods nothing is collected. */
const idleLooks = 3

interface Process {
  /** Returns the share of the time since the last call in which the event loop did not wait. */
  utilization(): number
  heapBytes(): number
  collect(): Promise<void>
}

/** Gives back what many pods at once have taken, when there is nothing else to do. Returns what ends that. */
export function giveBackMemory(clock: Clock, { utilization, heapBytes, collect } = thisProcess()): () => void {
  let keptBytes = 0
  let looks = 0
  let timer = clock.setTimer(lookMs, look, { background: true })
  async function look(): Promise<void> {
    looks = utilization() < idle ? looks + 1 : 0
    if (looks >= idleLooks && heapBytes() > keptBytes + allowedGrowth) {
      await collect()
      keptBytes = heapBytes()
    }
    timer = clock.setTimer(lookMs, look, { background: true })
  }
  return () => timer.cancel()
}

const thisProcess = (): Process => ({
  utilization: measureBusyShare(),
  heapBytes: () => process.memoryUsage().heapTotal,
  collect: collectGarbage,
})
