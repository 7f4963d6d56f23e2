/**
 * Plays random pods on a real node and on ours, and lists which lives differ:
 *
 *     npm run differential:pods -- --theirs KUBECONFIG --seed 1 [--count 100] [--parallel 8] [--out FILE]
 *
 * Each pod is first played on two nodes of ours, one of which starts and stops containers late (slow-kubelet.ts). A pod
 * whose lives differ there depends on a node's speed, and is not played on the real node; `--count` counts the others.
 * What differs is played again, up to `--plays` times on both nodes; with `--again 2` all pods are played twice on the
 * real node, whose lives are compared with each other. `--out FILE` keeps what was seen, and a further run goes on
 * there; `--seconds N` ends this one early. Without `--theirs` the kept lives are compared again.
 * `--seeds 1000000,1000007` plays these, and `--subjects FILE` the pods of a JSON object by name. `--shrink N` leaves out
 * what it can of the first N pods that differ, and prints them as `--subjects` reads them.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { makeSubject } from './generate.ts'
import { differencesIn } from './outcome.ts'
import { Outcomes } from './outcomes.ts'
import { PlayRun } from './play-run.ts'
import { reportOf } from './report.ts'
import { keyOf, shrink } from './shrink.ts'
import type { Subject } from './subject.ts'

const { values } = parseArgs({
  options: {
    theirs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    parallel: { type: 'string', default: '8' },
    again: { type: 'string', default: '1' },
    plays: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '86400' },
    seeds: { type: 'string' },
    subjects: { type: 'string' },
    shrink: { type: 'string', default: '0' },
    out: { type: 'string' },
  },
})

function* subjects(): Generator<[name: string, subject: Subject]> {
  if (values.subjects)
    return yield* Object.entries(JSON.parse(readFileSync(values.subjects, 'utf8')) as Record<string, Subject>)
  for (const seed of values.seeds?.split(',').map(Number) ?? seedsFrom(Number(values.seed) * 1_000_000))
    yield [String(seed), makeSubject(seed)]
}

function* seedsFrom(first: number): Generator<number> {
  for (let seed = first; ; seed++) yield seed
}

/** Prints, for each of the pods that differ, the smallest that does so in the same way. */
async function showSmallest(run: PlayRun, endMs: number): Promise<void> {
  const isOver = (): boolean => performance.now() >= endMs
  const differ = (tried: Subject) => run.differencesOf(tried)
  const differing = outcomes.all().filter(({ theirs }) => theirs.length > 0)
  const found = differing.flatMap((outcome) =>
    differencesIn(outcome)
      .slice(0, 1)
      .map((wanted) => ({ outcome, wanted })),
  )
  for (const { outcome, wanted } of found.slice(0, Number(values.shrink))) {
    const smallest = await shrink(outcome.subject, wanted, { differ, isOver })
    console.log(`${outcome.name}: ${keyOf(wanted)}\n${JSON.stringify({ [outcome.name]: smallest })}`)
  }
}

const outcomes = new Outcomes(values.out)
const endMs = performance.now() + Number(values.seconds) * 1000
if (values.theirs) {
  const run = await PlayRun.start(values.theirs, outcomes)
  try {
    const { parallel, count, plays, again } = values
    await run.play(subjects(), {
      parallel: Number(parallel),
      count: Number(count),
      plays: Number(plays),
      again: Number(again),
      endMs,
    })
    await showSmallest(run, endMs)
  } finally {
    outcomes.save()
    await run.close()
  }
}
console.log(reportOf(outcomes.all()))
