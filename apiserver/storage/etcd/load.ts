import { noteStored } from '../../../shared/api/json/exact-json.ts'
import { ownKey } from '../../../shared/api/upstream-keys.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import type { Entry } from '../engine.ts'
import type { EtcdClient } from './client.ts'
import { isCompacted } from './reasons.ts'

/** Entries in one answer: each may have a megabyte. */
const pageSize = 500

/** Holds every object below a prefix. */
export interface Contents {
  /** Lists the objects under our own keys, in the order of etcd's keys. */
  entries: Entry[]
  revision: number
}

export interface KeyRange {
  key: string
  range_end: string
}

/** All keys that begin with `prefix`, which ends with a slash: `0` is the next character. */
export const rangeOf = (prefix: string): KeyRange => ({ key: prefix, range_end: `${prefix.slice(0, -1)}0` })

/**
 * Reads a range in pages, all as they were at `revision` (0: now). Rejects with a GrpcError, or with a ConfigError when
 * the values are of a real kube-apiserver.
 */
export async function readRange(
  client: Pick<EtcdClient, 'call'>,
  prefix: string,
  { range, revision }: { range: KeyRange; revision: number },
): Promise<Contents> {
  const entries: Entry[] = []
  let { key } = range
  let at = revision
  for (;;) {
    const request = { key, range_end: range.range_end, limit: pageSize, revision: at }
    const { kvs, more, header } = await client.call('range', request, { isRepeatable: true })
    at ||= header?.revision ?? 0
    for (const { key: theirs, value, mod_revision } of kvs) {
      const own = ownKey(prefix, theirs)
      if (own === undefined) continue
      if (isForeign(value)) throw new ConfigError(foreign(prefix))
      noteStored(value)
      entries.push({ key: own, value, revision: mod_revision })
    }
    if (!more) return { entries, revision: at }
    key = `${kvs.at(-1)?.key}\0`
  }
}

/** Returns whether a value is protobuf that a real kube-apiserver wrote. */
export const isForeign = (value: string): boolean => value.startsWith('k8s\0')

export const foreign = (prefix: string): string =>
  `the objects below ${prefix} in etcd are those of a real kube-apiserver; name another prefix with --etcd-prefix`

/**
 * Reads the objects as they were at the oldest revision that etcd still has, but at most `events` revisions ago, so
 * that the changes since can be replayed. Reads the current objects if etcd no longer has that revision.
 */
export async function readPast(
  client: Pick<EtcdClient, 'call'>,
  prefix: string,
  { events }: { events: number },
): Promise<Contents> {
  const request = { key: 'compact_rev_key' }
  const { kvs, header } = await client.call('range', request, { isRepeatable: true })
  const now = header?.revision ?? 1
  const oldest = Math.max(1, now - events, Number(kvs[0]?.value ?? 0))
  try {
    return await readRange(client, prefix, { range: rangeOf(prefix), revision: oldest })
  } catch (error) {
    // It was made to forget more by other means than the servers'.
    if (!isCompacted(error)) throw error
    return readRange(client, prefix, { range: rangeOf(prefix), revision: 0 })
  }
}
