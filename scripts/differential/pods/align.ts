/** Lays two sequences of states beside each other. */
import type { State } from './life.ts'

/** A real kubelet writes why a container waits at some later sync, by chance. */
export const isWritten = ({ text }: State): boolean => /^waiting\((CrashLoop|ImagePull)BackOff/.test(text)
const isPassing = (state: State): boolean => state.isBrief || isWritten(state)

/** The part came back to this state after passing ones: a watcher that missed those saw no change. */
export function isReturn(state: State, states: State[]): boolean {
  let at = states.indexOf(state) - 1
  while (at >= 0 && states[at]!.text !== state.text && isPassing(states[at]!)) at--
  return states[at]?.text === state.text
}

export interface Alignment {
  pairs: [State, State][]
  /** Those of the first sequence alone, and of the second. */
  missing: State[]
  extra: State[]
}

/** Finds the longest common subsequence. */
export function align(theirs: State[], ours: State[]): Alignment {
  const lengths = lengthsOf(theirs, ours)
  const found: Alignment = { pairs: [], missing: [], extra: [] }
  let [i, j] = [0, 0]
  while (i < theirs.length || j < ours.length) {
    if (i < theirs.length && j < ours.length && theirs[i]!.text === ours[j]!.text)
      found.pairs.push([theirs[i++]!, ours[j++]!])
    else if (j >= ours.length || (i < theirs.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!))
      found.missing.push(theirs[i++]!)
    else found.extra.push(ours[j++]!)
  }
  return found
}

function lengthsOf(theirs: State[], ours: State[]): number[][] {
  const lengths = Array.from({ length: theirs.length + 1 }, () => new Array<number>(ours.length + 1).fill(0))
  for (let i = theirs.length - 1; i >= 0; i--)
    for (let j = ours.length - 1; j >= 0; j--) {
      const isSame = theirs[i]!.text === ours[j]!.text
      lengths[i]![j] = isSame ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
    }
  return lengths
}
