/** An engine in a folder of its own is built of these: the contract, and the parts that engines have in common. */
export type { EventLogLimits } from './event-log.ts'
export { checkFence, type Fence, FencedError } from './fence.ts'
export type { EtcdFiles, OpenOptions } from './open-options.ts'
export { RevisionWaiters } from './revision-waiters.ts'
export { StateReads } from './state-reads.ts'
export * from './storage.ts'
export { type Change, defaultHistory, StoreState } from './store-state.ts'
