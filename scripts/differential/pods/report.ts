/** Tells outcomes in lines. */
import type { Difference } from './compare.ts'
import { differencesIn, type Outcome, variesThere } from './outcome.ts'

const shownLength = 300

/** Lists what differs, the first differences of each pod, and counts. */
export function reportOf(outcomes: readonly Outcome[]): string {
  const judged = outcomes.map((outcome) => ({ outcome, differences: differencesIn(outcome) }))
  const differing = judged.filter(({ differences }) => differences.length > 0)
  const atOnce = judged.filter(({ outcome, differences }) => differences.length === 0 && outcome.theirs.length === 1)
  const varying = differing.filter(({ outcome }) => variesThere(outcome))
  const equal = judged.length - differing.length
  const percent = ((100 * equal) / Math.max(1, judged.length)).toFixed(1)
  return [
    ...differing.flatMap(({ outcome, differences }) => linesOf(outcome, differences)),
    `${equal} of ${judged.length} life cycles equal (${percent} %), ${atOnce.length} of them in the first play`,
    `of ${varying.length} others the lives on the real node differ from each other as well`,
  ].join('\n')
}

function linesOf(outcome: Outcome, differences: Difference[]): string[] {
  const plays = `${outcome.theirs.length} plays${variesThere(outcome) ? ', the real node varies' : ''}`
  const lines = differences.slice(0, 6).map(({ class: kind, of, text }) => `    ${kind} of ${of}: ${text}`)
  return [`✗ ${outcome.name} (${plays})`, ...lines.map((line) => line.replaceAll('\n', '|').slice(0, shownLength))]
}
