/** Makes a subject smaller while its lives on the two nodes still differ in the same way. */
import type { Difference } from './compare.ts'
import { smallerThan } from './smaller.ts'
import type { Subject } from './subject.ts'

/** Plays a subject and returns how its lives differ; those of a pod that races, or is refused, do not. */
export type Differ = (tried: Subject) => Promise<Difference[]>

/** How many subjects are played at a time: a play takes half a minute. */
const atOnce = 16

/** Ends when no smaller subject differs so, or after the time. */
export async function shrink(
  subject: Subject,
  wanted: Difference,
  options: { differ: Differ; isOver(): boolean },
): Promise<Subject> {
  let smallest = subject
  for (;;) {
    const found = await firstThatDiffers(smallest, wanted, options)
    if (!found) return smallest
    smallest = found
  }
}

async function firstThatDiffers(
  subject: Subject,
  wanted: Difference,
  { differ, isOver }: { differ: Differ; isOver(): boolean },
): Promise<Subject | undefined> {
  const queue = [...smallerThan(subject)]
  while (queue.length > 0 && !isOver()) {
    const tried = queue.splice(0, atOnce)
    const lives = await Promise.all(tried.map(differ))
    const found = tried.filter((_, index) => lives[index]!.some((difference) => keyOf(difference) === keyOf(wanted)))
    if (found.length > 0) return found[0]
  }
  return undefined
}

/** A difference is the same if it is one of the same kind, at the same part of the pod. */
export const keyOf = ({ class: kind, of }: Difference): string => `${kind} of ${of}`
