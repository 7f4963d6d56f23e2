import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { nameWithoutKey, plainError, resourceVersionTooLarge } from '../../../shared/api/status/status-errors.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { WatchCache } from '../../watchcache/watch-cache.ts'
import type { RequestInfo } from '../request-info.ts'

/** `refuse` makes the error: lists, watches and gets do it differently. */
export function parseRevision(text: string, refuse: (why: string) => StatusError): number {
  if (/^[0-9]+$/.test(text)) return Number(text)
  const shown = JSON.stringify(text)
  throw refuse(`Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`)
}

const patienceMs = 3000
const stepMs = 50

/** A real server has no watch cache of events: it asks etcd, which has each revision at once. */
const isUncached = ({ kind, custom }: ResourceDefinition): boolean => kind === 'Event' && !custom

/**
 * A client may have heard of a revision that is still to come; if it does not come in 3 s, it never will. Throws a
 * StatusError (504) then, and at once where a real server does not wait.
 */
export async function waitForRevision({ clock }: { clock: Clock }, cache: WatchCache, revision: number): Promise<void> {
  const { machine } = clock
  const waits = !isUncached(cache.definition)
  const deadline = machine.monotonic() + (waits ? patienceMs : 0)
  while (cache.revision() < revision) {
    if (machine.monotonic() >= deadline) throw resourceVersionTooLarge(revision, cache.revision(), waits ? 1 : 0)
    await machine.sleep(stepMs)
  }
}

/**
 * Waits until the cache has the revision that a get asks for; undefined if it asks for none. Throws a StatusError: 400
 * for a name that no object can have, 500 for text that is not a number.
 */
export function seeRevision(
  place: { clock: Clock },
  cache: WatchCache,
  { query, target }: Pick<RequestInfo, 'query' | 'target'>,
): Promise<void> | undefined {
  const text = query.get('resourceVersion')
  if (!text) return undefined
  const wrongName = nameWithoutKey(target?.name ?? '')
  if (wrongName) throw wrongName
  const revision = parseRevision(text, (why) => plainError(`resourceVersion: ${why}`))
  return waitForRevision(place, cache, revision)
}
