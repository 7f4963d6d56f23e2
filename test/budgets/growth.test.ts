/**
 * What a request costs grows with what it holds and not faster: every list and map of every kind, valid or not, and where
 * two of them meet. CPU time of the server is measured, not the clock. `npm run growth` tries all of them with every verb;
 * here every second one is created, half of them carelessly or with another verb: GROWTH_SEED=1 chooses the others.
 * At every hundredth the largest object is created that the server takes: no request may take a second of CPU time.
 * GROWTH=Lease runs those with the word in their names, all of them.
 */
import t, { type Test } from 'tap'
import type { Shape } from './growth/entries.ts'
import { kindsWithCollections, subjectOf, verbsOf } from './growth/fields.ts'
import { Judge, type Verdict } from './growth/judge.ts'
import { Meter } from './growth/meter.ts'
import { growthDefinition, situations } from './growth/situations/index.ts'
import { type Verb, workOf } from './growth/writes.ts'
import { ServerProcess } from './server-process.ts'

const size = 2_000
const chosen = new RegExp(process.env.GROWTH ?? '')
let turn = Number(process.env.GROWTH_SEED ?? 0)

t.setTimeout(900_000)
const server = await ServerProcess.start(t)
const meter = new Meter(server)
t.teardown(() => meter.leave())
const judge = new Judge(meter)

function hold(t: Test, name: string, { isLinear, text, codes }: Verdict): void {
  t.ok(isLinear, `${name}: ${text} (${codes})`)
}

for (const { kind, fields } of kindsWithCollections) {
  if (!chosen.test(kind.kind)) continue
  t.test(`${kind.kind}.${kind.version}.${kind.group}: ${fields.length} lists and maps`, async (t) => {
    const unwatch = meter.watchKind(kind)
    for (const field of fields) {
      const at = turn++
      if (at % 2 === 1 && !process.env.GROWTH) continue
      const name = field.path.join('.')
      const look = async (shape: Shape, verb: Verb): Promise<void> => {
        const subject = subjectOf(kind, field, shape)
        hold(t, `${name}, ${shape}: ${verb}`, await judge.look((size) => workOf(subject, verb, size), size))
      }
      const [create, ...others] = verbsOf(kind)
      await look('valid', create!)
      if (at % 4 < 2 || others.length === 0) await look('careless', create!)
      else await look('valid', others[(at >> 2) % others.length]!)
      if (at % 100 !== 0) continue
      const largest = await judge.largest((size) => workOf(subjectOf(kind, field, 'valid'), create!, size))
      t.ok(largest.isQuick, `${name}, the largest: ${largest.text} (${largest.codes})`)
    }
    unwatch()
  })
}

t.test('where two lists or maps meet', async (t) => {
  t.equal(await meter.ask(growthDefinition()), 201)
  for (const { name, work } of situations) {
    if (chosen.test(name)) hold(t, name, await judge.look(work, size))
  }
})

t.teardown(() => t.comment(`${(judge.cpuMs / 1000).toFixed(0)} s of CPU time measured`))
