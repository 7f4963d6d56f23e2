/**
 * Sends random requests to our API server and to a real one, and lists what they answer differently:
 *
 *     npm run differential -- --theirs KUBECONFIG --seed 1 [--area objects,custom] [--count 600] [--record 5]
 *
 * Each area (`areas/`) makes as many cases as `--count` says; `--kind A,B` changes objects of these kinds alone.
 * A difference is a line of JSON; the summary follows, with the slowest answers of each server.
 * `--record N` shrinks up to N differences of each class and place and adds them, with the real server's answers, to
 * test/golden/differential/cases.json. `--cases FILE` adds the cases of a file there, which are a list of a name and
 * steps each. `--only SEED` plays one case of the area and prints all answers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Random } from '../../test/fuzz/random.ts'
import { areas } from './areas/index.ts'
import { Generator } from './areas/objects.ts'
import { readBases } from './bases.ts'
import type { Case, Recorded } from './case.ts'
import { type Difference, differenceOf } from './compare.ts'
import { inLanes } from './lanes.ts'
import { ourServer, theirServer } from './servers.ts'
import { Session } from './session.ts'
import { keyOf, shrink } from './shrink.ts'
import { Slowest } from './slowest.ts'
import { Summary } from './summary.ts'

const golden = join(import.meta.dirname, '../../test/golden')
const recordings = join(golden, 'differential/cases.json')
const { values } = parseArgs({
  options: {
    theirs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    area: { type: 'string' },
    count: { type: 'string', default: '6000' },
    kind: { type: 'string' },
    record: { type: 'string', default: '0' },
    cases: { type: 'string' },
    only: { type: 'string' },
  },
})
if (!values.theirs) throw new Error('--theirs KUBECONFIG is missing: it names the real server')

const folders = [join(golden, 'api'), join(import.meta.dirname, 'more-bases')]
const kinds = new Map(folders.flatMap((folder) => [...readBases(folder)]))
const wanted = values.kind?.split(',')
if (wanted) for (const kind of [...kinds.keys()]) if (!wanted.includes(kind)) kinds.delete(kind)
const objects = new Generator(kinds)
const makers: Record<string, (seed: number) => Case> = { objects: (seed) => objects.make(seed) }
for (const [name, make] of Object.entries(areas)) makers[name] = (seed) => make(new Random(seed))
const chosen = values.area?.split(',') ?? Object.keys(makers)
for (const area of chosen) if (!makers[area]) throw new Error(`unknown area "${area}": use ${Object.keys(makers)}`)

const [ours, theirs] = [await ourServer(), await theirServer(values.theirs)]
const slowest = { ours: new Slowest('ours'), theirs: new Slowest('theirs') }
const session = new Session(slowest.ours.timed(ours), slowest.theirs.timed(theirs))
const summary = new Summary()
const recorded = new Map<string, number>()

async function record(found: Case, place: number, difference: Difference): Promise<void> {
  const asked = { ...found, steps: found.steps.slice(0, place + 1) }
  const smallest = await shrink(asked, difference, (tried) => session.differenceAtEnd(tried))
  await keep(`${found.kind}: ${found.operation} ${found.what}: ${difference.class}`, smallest)
}

/** Adds a case with the real server's answers to the recordings. */
async function keep(name: string, asked: Pick<Case, 'steps'>): Promise<void> {
  const { ours, theirs } = await session.play(asked)
  for (const [place, answer] of ours.entries()) {
    const difference = differenceOf(answer, theirs[place]!)
    if (difference) console.log(`${name}: ${difference.at}`)
  }
  const steps = asked.steps.map((step, index) => ({ ...step, answer: theirs[index]! }))
  const known = JSON.parse(readFileSync(recordings, 'utf8')) as Recorded[]
  known.push({ name, steps })
  writeFileSync(recordings, `[\n${known.map((scenario) => JSON.stringify(scenario)).join(',\n')}\n]\n`)
}

async function run(area: string, seed: number): Promise<void> {
  const asked = makers[area]!(seed)
  const { kind, operation, what } = asked
  let step = 0
  try {
    for await (const found of session.compare(asked)) {
      summary.add(area, kind, found)
      if (found === 'unstable') console.log(JSON.stringify({ area, seed, kind, operation, what, step, unstable: true }))
      else if (found) {
        const { method, path, accept } = asked.steps[step]!
        const request = `${method} ${path}${accept ? ` as ${accept}` : ''}`
        console.log(JSON.stringify({ area, seed, kind, operation, what, step, request, ...found }))
        const key = `${kind} ${keyOf(found)}`
        const times = recorded.get(key) ?? 0
        recorded.set(key, times + 1)
        if (times < Number(values.record)) await record(asked, step, found)
      }
      step++
    }
  } catch (error) {
    // A real server that panics ends the connection.
    console.log(JSON.stringify({ area, seed, kind, what, step, skipped: `${error}` }))
  }
}

async function show(asked: Case): Promise<void> {
  const { ours, theirs } = await session.play(asked)
  for (const [place, { answer: _, ...step }] of (asked.steps as Recorded['steps']).entries()) {
    const [our, their] = [ours[place]!, theirs[place]!]
    console.log(JSON.stringify(step))
    console.log(`   theirs ${JSON.stringify(their)}`)
    if (differenceOf(our, their)) console.log(`** ours   ${JSON.stringify(our)}`)
  }
}

try {
  const given = values.cases ? (JSON.parse(readFileSync(values.cases, 'utf8')) as Recorded[]) : []
  for (const { name, steps } of given) await keep(name, { steps })
  const first = Number(values.seed) * 1_000_000
  if (values.only) await show(makers[chosen[0]!]!(Number(values.only)))
  else if (!values.cases) {
    for (const area of chosen) {
      // Objects share a namespace, where a quota or a policy of one case would change the next.
      const lanes = area === 'objects' ? 1 : 6
      await inLanes(lanes, Number(values.count), (index) => run(area, first + index))
    }
  }
} finally {
  if (!values.only) console.log([summary.text(), slowest.ours.text(), slowest.theirs.text()].join('\n'))
  await ours.close()
  await theirs.close()
}
