/** Tells outcomes in lines. */
import { type Difference, differencesOf } from './compare.ts'
import type { Life } from './life.ts'
import { differencesIn, type Outcome, races, variesThere } from './outcome.ts'

const shownLength = 300

/** Lists what differs, the first differences of each pod, and counts. */
export function reportOf(all: readonly Outcome[]): string {
  const outcomes = all.filter(({ theirs }) => theirs.length > 0)
  const judged = outcomes.map((outcome) => ({ outcome, differences: differencesIn(outcome) }))
  const differing = judged.filter(({ differences }) => differences.length > 0)
  const varying = differing.filter(({ outcome }) => variesThere(outcome))
  const equal = judged.length - differing.length
  const firsts = outcomes.filter(({ subject, theirs, ours }) => areEqual(subject, [theirs[0]!, ours[0]!]))
  const twice = outcomes.filter(({ theirs }) => theirs.length > 1)
  const alike = twice.filter(({ subject, theirs }) => areEqual(subject, theirs))
  return [
    ...differing.flatMap(({ outcome, differences }) => linesOf(outcome, differences)),
    `${all.filter(races).length} pods race on our own nodes and were not played`,
    `${equal} of ${judged.length} life cycles equal (${percent(equal, judged.length)} %), ${firsts.length} of them in the first play`,
    `of ${varying.length} others the lives on the real node differ from each other as well`,
    `${alike.length} of ${twice.length} first two plays on the real node equal each other (${percent(alike.length, twice.length)} %)`,
  ].join('\n')
}

const percent = (some: number, all: number): string => ((100 * some) / Math.max(1, all)).toFixed(1)

const areEqual = ({ untilSeconds }: Outcome['subject'], [a, b]: Life[]): boolean =>
  differencesOf(a!, b!, untilSeconds * 1000).length === 0

function linesOf(outcome: Outcome, differences: Difference[]): string[] {
  const plays = `${outcome.theirs.length} plays${variesThere(outcome) ? ', the real node varies' : ''}`
  const lines = differences.slice(0, 6).map(({ class: kind, of, text }) => `    ${kind} of ${of}: ${text}`)
  return [`✗ ${outcome.name} (${plays})`, ...lines.map((line) => line.replaceAll('\n', '|').slice(0, shownLength))]
}
