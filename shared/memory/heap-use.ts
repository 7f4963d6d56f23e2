const MiB = 1024 * 1024

/** Returns the space for old objects, in bytes: the three semi-spaces of young ones prevent no overflow. */
const limitFor = (heap: number): number => heap - 3 * semiSpaceBytes

/** Returns the used part of the heap, from 0 to 1. */
export function heapUse(): number {
  const { used_heap_size, heap_size_limit } = process.getBuiltinModule('node:v8').getHeapStatistics()
  return used_heap_size / limitFor(heap_size_limit)
}

/** Returns the variable that doubles the heap of this process at its next start. */
export function largerHeap(): string {
  const { heap_size_limit } = process.getBuiltinModule('node:v8').getHeapStatistics()
  return `NODE_OPTIONS=--max-old-space-size=${Math.round((2 * limitFor(heap_size_limit)) / MiB)}`
}

const givenSemiSpace = /--max-semi-space-size=(\d+)/.exec(process.execArgv.join(' '))?.[1]
const semiSpaceBytes = Number(givenSemiSpace ?? 32) * MiB
