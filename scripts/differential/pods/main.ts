/**
 * Plays random pods on a real node and on ours, and lists which lives differ:
 *
 *     npm run differential:pods -- --theirs KUBECONFIG --seed 1 [--count 100] [--parallel 8] [--out FILE]
 *
 * What differs is played again, up to `--plays` times on both nodes. `--out FILE` keeps what was seen, and a further
 * run goes on there; `--seconds N` ends this one early. Without `--theirs` the kept lives are compared again.
 * `--seeds 1000000,1000007` plays these, and `--subjects FILE` the pods of a JSON object by name.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { makeSubject } from './generate.ts'
import { Outcomes } from './outcomes.ts'
import { PlayRun } from './play-run.ts'
import { reportOf } from './report.ts'
import type { Subject } from './subject.ts'

const { values } = parseArgs({
  options: {
    theirs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    parallel: { type: 'string', default: '8' },
    plays: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '86400' },
    seeds: { type: 'string' },
    subjects: { type: 'string' },
    out: { type: 'string' },
  },
})

function subjects(): [name: string, subject: Subject][] {
  if (values.subjects)
    return Object.entries(JSON.parse(readFileSync(values.subjects, 'utf8')) as Record<string, Subject>)
  const first = Number(values.seed) * 1_000_000
  const seeds =
    values.seeds?.split(',').map(Number) ?? Array.from({ length: Number(values.count) }, (_, i) => first + i)
  return seeds.map((seed) => [String(seed), makeSubject(seed)])
}

const outcomes = new Outcomes(values.out)
if (values.theirs) {
  const run = await PlayRun.start(values.theirs, outcomes)
  try {
    const { parallel, plays, seconds } = values
    await run.play(subjects(), { parallel: Number(parallel), plays: Number(plays), seconds: Number(seconds) })
  } finally {
    outcomes.save()
    await run.close()
  }
}
console.log(reportOf(outcomes.all()))
