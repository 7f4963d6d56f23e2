import { withoutStorageVersion } from '../kind/storage-version.ts'
import type { Entry } from '../storage/storage.ts'

/** A stored custom resource without its version: what lists, watches and gets are cut from. */
export class VersionedEntry implements Entry {
  readonly #entry: Entry
  readonly storedIn: string

  constructor(entry: Entry, storedIn: string) {
    this.#entry = entry
    this.storedIn = storedIn
  }

  get stored(): Entry {
    return this.#entry
  }

  get key(): string {
    return this.#entry.key
  }

  get revision(): number {
    return this.#entry.revision
  }

  get value(): string {
    return withoutStorageVersion(this.#entry.value)
  }

  get parts(): readonly string[] | undefined {
    const { parts } = this.#entry
    return parts && [...parts.slice(0, -1), withoutStorageVersion(parts.at(-1) ?? '')]
  }
}
