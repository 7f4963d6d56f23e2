/**
 * Each fuzzer for a moment, always with the same seeds, and with those that once found something. `npm run fuzz -- --minutes N`
 * goes on with others.
 */
import t from 'tap'
import { fuzzers } from './fuzzers/index.ts'
import { Random } from './random.ts'
import { seeds } from './seeds.ts'

t.setTimeout(300_000)

for (const { name, attempts, start } of fuzzers) {
  t.test(name, async (t) => {
    const target = await start()
    for (const seed of [...(seeds[name] ?? []), ...Array.from({ length: attempts }, (_, index) => index + 1)]) {
      try {
        await target.attempt(new Random(seed))
      } catch (error) {
        t.error(error, `seed ${seed}`)
        break
      }
    }
    await target.end?.()
    t.pass(`${attempts} attempts`)
  })
}
