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
  /** The median of the rounds' ratios, and what it lies between with a certainty of 99 %. */
  ratio: number
  between: readonly [low: number, high: number]
  /** `unclear`: the rounds differ so much that the slow-down which must be found could be missed. */
  word: 'slower' | 'as fast' | 'unclear'
}

/** Halfway between no slow-down, which must pass, and one of 10 %, which must not. */
const limit = 1.05
/** The certainty of 99 %, in standard deviations. */
const certain = 2.58

/** Two of the sorted ratios bound their median, however they are distributed: binomial ranks around the middle. */
export function verdictOf(what: string, unit: string, rounds: readonly Round[]): Verdict {
  const ratios = rounds.map(({ now, then }) => now / then).sort((a, b) => a - b)
  const middle = (ratios.length - 1) / 2
  const reach = (certain * Math.sqrt(ratios.length)) / 2
  const low = ratios[Math.max(0, Math.floor(middle - reach))]!
  const high = ratios[Math.min(ratios.length - 1, Math.ceil(middle + reach))]!
  const ratio = median(ratios)
  const of = (side: keyof Round): number => median(rounds.map((round) => round[side]))
  const isSlower = ratio > limit && low > 1
  const word = isSlower ? 'slower' : high > 2 * limit - 1 ? 'unclear' : 'as fast'
  return { what, unit, median: { now: of('now'), then: of('then') }, ratio, between: [low, high], word }
}

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
