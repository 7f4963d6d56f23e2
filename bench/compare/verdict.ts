import { median } from '../load.ts'
import { aligned, figure } from '../report.ts'

export const sides = ['now', 'then'] as const
export type Sides<T> = Record<(typeof sides)[number], T>

/** The CPU time that a figure took of each side in the same round. */
export type Round = Sides<number>

export interface Verdict {
  what: string
  unit: string
  median: Round
  /**
   * The median of the rounds' ratios, and what it lies between with a certainty of 99 %. The medians of the pairs of
   * servers lie between as well: each process compiles its code in its own way, so that its rounds err together.
   */
  ratio: number
  between: readonly [low: number, high: number]
  /** `unclear`: the rounds differ so much that the slow-down which must be found could be missed. */
  word: 'slower' | 'as fast' | 'unclear'
}

/** What is slower: halfway between no slow-down, which must pass, and one of 10 %, which must not. */
const usualLimit = 1.05
/** The certainty of 99 %, in standard deviations. */
const certain = 2.58

/** Of so many pairs, the most extreme one at each end does not count: the machine may have treated its sides unlike. */
const pairsForOneSpare = 5

export interface Figure {
  what: string
  unit: string
  pairs: readonly (readonly Round[])[]
  /** A median ratio above this is slower, if all of the spread is above 1. */
  limit?: number
}

/** Two of the sorted ratios bound their median, however they are distributed: binomial ranks around the middle. */
export function verdictOf({ what, unit, pairs, limit = usualLimit }: Figure): Verdict {
  const rounds = pairs.flat()
  const ratios = ratiosOf(rounds).sort((a, b) => a - b)
  const middle = (ratios.length - 1) / 2
  const reach = (certain * Math.sqrt(ratios.length)) / 2
  const medians = pairs.map((pair) => median(ratiosOf(pair))).sort((a, b) => a - b)
  const spare = Math.floor(medians.length / pairsForOneSpare)
  const low = Math.min(ratios[Math.max(0, Math.floor(middle - reach))]!, medians[spare]!)
  const high = Math.max(ratios[Math.min(ratios.length - 1, Math.ceil(middle + reach))]!, medians.at(-1 - spare)!)
  const ratio = median(ratios)
  const of = (side: keyof Round): number => median(rounds.map((round) => round[side]))
  const isSlower = ratio > limit && low > 1
  const word = isSlower ? 'slower' : high > 2 * usualLimit - 1 ? 'unclear' : 'as fast'
  return { what, unit, median: { now: of('now'), then: of('then') }, ratio, between: [low, high], word }
}

const ratiosOf = (rounds: readonly Round[]): number[] => rounds.map(({ now, then }) => now / then)

const headings = ['CPU time', 'unit', 'then', 'now', 'difference', 'between', 'verdict']

export const verdictTable = (verdicts: readonly Verdict[]): string => aligned([headings, ...verdicts.map(cells)])

const cells = ({ what, unit, median: { now, then }, ratio, between: [low, high], word }: Verdict): string[] => [
  what,
  unit,
  figure(then),
  figure(now),
  percent(ratio),
  `${percent(low)} and ${percent(high)}`,
  word,
]

const percent = (ratio: number): string => `${ratio < 1 ? '−' : '+'}${Math.abs((ratio - 1) * 100).toFixed(1)} %`
