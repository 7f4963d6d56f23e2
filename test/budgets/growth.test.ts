/**
 * What a request costs grows with what it holds and not faster: every list and map of every kind, valid or not, and where
 * two of them meet. CPU time of the server is measured, not the clock. `npm run growth` tries all of them with every verb;
 * here each is created, and has one other verb: GROWTH_SEED=1 chooses the next.
 */
import t, { type Test } from 'tap'
import { kindsWithCollections, subjectOf, verbsOf } from './growth/fields.ts'
import { Judge, type Verdict } from './growth/judge.ts'
import { Meter } from './growth/meter.ts'
import { growthDefinition, situations } from './growth/situations.ts'
import { workOf } from './growth/writes.ts'
import { ServerProcess } from './server-process.ts'

const size = 2_000
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
  t.test(`${kind.kind}.${kind.version}.${kind.group}: ${fields.length} lists and maps`, async (t) => {
    const unwatch = meter.watchKind(kind)
    for (const field of fields) {
      const [create, ...others] = verbsOf(kind)
      const other = others[turn++ % Math.max(1, others.length)]
      const valid = subjectOf(kind, field, 'valid')
      const careless = subjectOf(kind, field, 'careless')
      const name = field.path.join('.')
      hold(t, `${name}, careless: ${create}`, await judge.look((size) => workOf(careless, create!, size), size))
      hold(t, `${name}: ${create}`, await judge.look((size) => workOf(valid, create!, size), size))
      if (other) hold(t, `${name}: ${other}`, await judge.look((size) => workOf(valid, other, size), size))
    }
    unwatch()
  })
}

t.test('where two lists or maps meet', async (t) => {
  t.equal(await meter.ask(growthDefinition()), 201)
  for (const { name, work } of situations) hold(t, name, await judge.look(work, size))
})

t.teardown(() => t.comment(`${(judge.cpuMs / 1000).toFixed(0)} s of CPU time measured`))
