// The fuzzers of test/fuzz with new seeds, in turns: npm run fuzz -- --minutes 60 [--only 'SPDY frames'] [--seed 4711]
import { parseArgs } from 'node:util'
import { fuzzers } from '../test/fuzz/fuzzers/index.ts'
import { Random } from '../test/fuzz/random.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, only: { type: 'string' }, seed: { type: 'string' } },
})
const turnMs = 5_000
const endMs = performance.now() + Number(values.minutes) * 60_000
const chosen = fuzzers.filter(({ name }) => !values.only || name === values.only)
if (!(Number(values.minutes) > 0)) throw new Error(`--minutes must be a number above 0, not ${values.minutes}`)
if (chosen.length === 0) throw new Error(`--only must be one of ${fuzzers.map(({ name }) => name).join(', ')}`)

let seed = Number(values.seed ?? Date.now() % 2 ** 31)
console.log(`seeds from ${seed}`)
const runs = await Promise.all(
  chosen.map(async ({ name, start }) => ({ name, target: await start(), attempts: 0, failures: 0 })),
)
while (performance.now() < endMs) {
  for (const run of runs) {
    const turnEndMs = Math.min(endMs, performance.now() + turnMs)
    while (performance.now() < turnEndMs) {
      run.attempts++
      seed++
      try {
        await run.target.attempt(new Random(seed))
      } catch (error) {
        run.failures++
        console.log(`${run.name}: seed ${seed}: ${error instanceof Error ? error.stack : error}`)
      }
    }
  }
}
for (const { name, target, attempts, failures } of runs) {
  await target.end?.()
  console.log(`${name}: ${attempts} attempts, ${failures} failures`)
}
process.exitCode = runs.some(({ failures }) => failures > 0) ? 1 : 0
