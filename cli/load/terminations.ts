import type { LostRequests, Termination } from '../../shared/api/termination.ts'
import type { Client } from '../../shared/client/client.ts'
import { terminations } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { type LossKind, lossKinds } from '../../shared/record/format.ts'

export interface LostAt {
  atMs: number
  kind: LossKind
  count: number
}

/** A client and the kubelet take the time of one moment differently. */
const slackMs = 1_000
/** A pod that ends has its record when its last container has ended. */
const waitMs = 5_000
const betweenMs = 100

/**
 * Finds the record that lost requests belong to: that of the last end that had begun. Requests lost before the first
 * end belong to none.
 */
export function byRecord(records: readonly Termination[], lost: readonly LostAt[]): Map<Termination, LostRequests[]> {
  const begun = records
    .map((record) => ({ record, fromMs: parseTime(record.startTime ?? '') - slackMs }))
    .sort((a, b) => a.fromMs - b.fromMs)
  const found = new Map<Termination, LostAt[]>()
  for (const one of lost) {
    const record = begun.findLast(({ fromMs }) => fromMs <= one.atMs)?.record
    if (record) found.set(record, [...(found.get(record) ?? []), one])
  }
  return new Map([...found].map(([record, of]) => [record, counted(of)]))
}

function counted(lost: readonly LostAt[]): LostRequests[] {
  const counts = lossKinds.map((kind) => {
    const ofKind = lost.filter((one) => one.kind === kind)
    return { kind, count: ofKind.reduce((sum, { count }) => sum + count, 0) }
  })
  return counts.filter(({ count }) => count > 0)
}

/**
 * Writes the lost requests of a pod into its Terminations. `isEnding`: whether the pod still ends, so that its record is
 * waited for.
 */
export async function addToTerminations(
  client: Client,
  { namespace, uid, lost }: { namespace: string; uid: string; lost: readonly LostAt[] },
  { clock, isEnding }: { clock: Clock; isEnding(): boolean },
): Promise<void> {
  const deadlineMs = clock.monotonic() + waitMs
  for (;;) {
    const { items } = await client.list<Termination>(terminations, { namespace, fieldSelector: `podUID=${uid}` })
    const found = byRecord(items, lost)
    for (const [{ metadata }, lostRequests] of found)
      await client.patch(terminations, { namespace, name: metadata.name ?? '' }, { lostRequests }, { type: 'merge' })
    if (found.size > 0 || !isEnding() || clock.monotonic() > deadlineMs) return
    await clock.sleep(betweenMs)
  }
}
