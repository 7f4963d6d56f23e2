import type { StormOptions } from '../storm.ts'

/** A bug that is put into a server as it loads: one line of one source file is another. The product knows nothing of it. */
export interface PlantedBug {
  name: string
  /** Relative to the repository. */
  file: string
  /** The whole line, without its indentation; it stands once in the file. */
  line: string
  instead: string
  /** In this storm it must be found, */
  storm: Pick<StormOptions, 'storage' | 'servers' | 'faults'>
  /** and be called this. */
  finding: RegExp
}

const times = (count: number, name: string): string[] => Array.from({ length: count }, () => name)

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'a write is acknowledged before it is committed',
    file: 'apiserver/storage/sqlite/sqlite.ts',
    line: "this.#send({ type: 'write', rows })",
    instead: "{ setTimeout(() => this.#send({ type: 'write', rows }), 100); this.#publish() }",
    storm: { storage: 'sqlite', faults: times(3, 'kill a server') },
    finding: /does not follow from/,
  },
  {
    name: 'a stale read is served as a consistent one',
    file: 'apiserver/several-servers/freshness.ts',
    line: 'if (wantsMore(info, storage.revision())) await storage.catchUp()',
    instead: 'if (!storage) return',
    storm: { storage: 'etcd', servers: 2, faults: times(3, 'delay what etcd says to a server') },
    finding: /get\(\) → .* does not follow from|list of server-\d has revision \d+ after/,
  },
  {
    name: 'an event is dropped at a reconnect',
    file: 'apiserver/storage/etcd/feed.ts',
    line: 'start_revision: this.#revision + 1,',
    instead: 'start_revision: this.#revision + 2,',
    storm: { storage: 'etcd', servers: 2, faults: times(12, 'cut a server off from etcd') },
    finding: /watch \d lacks/,
  },
  {
    name: 'two Services get one IP',
    file: 'apiserver/several-servers/allocation/ip-claims.ts',
    line: 'return ok',
    instead: 'return ok !== undefined',
    storm: { storage: 'etcd', servers: 2, faults: times(3, 'delay what etcd says to a server') },
    finding: /was given to service-\d+-\d by server-\d, and to/,
  },
  {
    name: 'a finalizer is lost',
    file: 'apiserver/registry/writes/before-delete.ts',
    line: 'metadata.finalizers = finalizersFor(definition, current, options)',
    instead: 'metadata.finalizers = undefined',
    storm: { storage: 'sqlite', faults: ['kill a server'] },
    finding: /whose finalizer nothing has removed|delete\(.*\) → .* does not follow from/,
  },
  {
    name: 'a member of a shared store writes over what it has not seen',
    file: 'apiserver/storage/shared/feed-of-member.ts',
    line: "return await storage.put({ key, value, parts: several, expect: expect || 'absent', freeing, fence })",
    instead:
      "{ const now = await storage.get(key); return await storage.put({ key, value, parts: several, expect: now?.revision ?? 'absent', freeing, fence }) }",
    storm: { storage: 'memory', servers: 3, faults: times(3, 'halt a server') },
    finding: /does not follow from/,
  },
]
