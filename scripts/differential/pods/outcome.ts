/** What is known of a subject: the lives that were seen on the nodes, and how they differ. */
import { type Difference, differencesOf } from './compare.ts'
import type { Life } from './life.ts'
import type { Subject } from './subject.ts'

export interface Outcome {
  name: string
  subject: Subject
  theirs: Life[]
  ours: Life[]
  /** The lives on our node whose runtime is slow, beside the first of ours. */
  slow: Life[]
}

/**
 * Whether the life depends on the node's speed, as our two nodes show. Such a pod is not played on a real node. How
 * long a deletion takes does not count: the slow node's delays add up there.
 */
export const races = ({ subject, ours, slow }: Outcome): boolean =>
  slow
    .flatMap((life) => differencesOf(life, ours[0]!, subject.untilSeconds * 1000))
    .some(({ class: kind, of }) => kind !== 'times' || of !== 'deletion')

/** Of all lives on both nodes, the two that are most alike: a real kubelet has its races, too. */
export function differencesIn({ subject, theirs, ours }: Outcome): Difference[] {
  const all = theirs.flatMap((their) => ours.map((our) => differencesOf(their, our, subject.untilSeconds * 1000)))
  return all.reduce((best, some) => (some.length < best.length ? some : best))
}

/** Whether two lives of the subject on the real node differ as well. */
export function variesThere({ subject, theirs }: Outcome): boolean {
  return theirs.slice(1).some((life) => differencesOf(theirs[0]!, life, subject.untilSeconds * 1000).length > 0)
}
