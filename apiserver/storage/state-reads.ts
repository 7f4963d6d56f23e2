import type { Entry, ListOptions, ListResult, StorageWatch, WatchOptions } from './storage.ts'
import type { StoreState } from './store-state.ts'

/** The reads of an engine that holds all that it stores in this process as well. */
export abstract class StateReads {
  protected state: StoreState

  constructor(state: StoreState) {
    this.state = state
  }

  revision(): number {
    return this.state.revision
  }

  oldestRevision(): number {
    return this.state.oldestRevision
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.state.get(key)
  }

  async list(options: ListOptions): Promise<ListResult> {
    return this.state.list(options)
  }

  watch(options: WatchOptions): StorageWatch {
    return this.state.watch(options)
  }
}
