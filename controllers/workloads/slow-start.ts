/** The first batch has this many calls; upstream's SlowStartInitialBatchSize. */
const FIRST = 1

/**
 * Makes `count` calls, in batches that double while all goes well: what fails once would probably fail as often as it
 * were tried. Throws the first failure of the batch that had one.
 */
export async function slowStart(count: number, call: () => Promise<unknown>): Promise<void> {
  let left = count
  for (let batch = Math.min(left, FIRST); batch > 0; batch = Math.min(2 * batch, left)) {
    const outcomes = await Promise.allSettled(Array.from({ length: batch }, call))
    const failed = outcomes.find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
    left -= batch
  }
}
