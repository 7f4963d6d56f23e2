/**
 * Sends random requests to our API server and to a real one, and lists what they answer differently:
 *
 *     npm run differential -- --theirs KUBECONFIG --seed 1 [--count 6000] [--kind Pod] [--record 5]
 *
 * A difference is a line of JSON; the summary follows. `--record N` shrinks up to N differences of each class and place
 * and adds them, with the real server's answers, to test/golden/differential/cases.json. `--cases FILE` adds the cases
 * of a file there, which are a list of a name and steps each.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readBases } from './bases.ts'
import type { Answer, Case, Recorded } from './case.ts'
import { answerOf, type Difference, differenceOf } from './compare.ts'
import { Generator } from './generate.ts'
import { Player } from './player.ts'
import { ourServer, theirServer } from './servers.ts'
import { keyOf, shrink } from './shrink.ts'
import { Summary } from './summary.ts'

const golden = join(import.meta.dirname, '../../test/golden')
const recordings = join(golden, 'differential/cases.json')
const { values } = parseArgs({
  options: {
    theirs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '6000' },
    kind: { type: 'string' },
    record: { type: 'string', default: '0' },
    cases: { type: 'string' },
  },
})
if (!values.theirs) throw new Error('--theirs KUBECONFIG is missing: it names the real server')

const kinds = readBases(join(golden, 'api'))
if (values.kind) for (const kind of [...kinds.keys()]) if (kind !== values.kind) kinds.delete(kind)
const generator = new Generator(kinds)
const [ours, theirs] = [await ourServer(), await theirServer(values.theirs)]
const players = [new Player(ours.send), new Player(theirs.send)] as const
const run = Date.now().toString(36).slice(-4)
let plays = 0

interface Played {
  ours: Answer[]
  theirs: Answer[]
}
async function play(asked: Pick<Case, 'steps'>): Promise<Played> {
  const name = `d${run}-${plays++}`
  const [ours, theirs] = await Promise.all(players.map((player) => player.play(asked, name)))
  const normalized = (answers: typeof ours): Answer[] => answers!.map((answer) => answerOf(answer, name))
  return { ours: normalized(ours), theirs: normalized(theirs) }
}

const differencesOf = ({ ours, theirs }: Played): (Difference | undefined)[] =>
  ours.map((answer, index) => differenceOf(answer, theirs[index]!))

async function record(found: Case, place: number, difference: Difference): Promise<void> {
  const asked = { ...found, steps: found.steps.slice(0, place + 1) }
  const differ = async (tried: Case): Promise<Difference | undefined> => differencesOf(await play(tried)).at(-1)
  const smallest = await shrink(asked, difference, differ)
  await keep(`${found.kind}: ${found.operation} ${found.what}: ${difference.class}`, smallest)
}

/** Adds a case with the real server's answers to the recordings. */
async function keep(name: string, asked: Pick<Case, 'steps'>): Promise<void> {
  const { ours, theirs } = await play(asked)
  for (const difference of differencesOf({ ours, theirs })) if (difference) console.log(`${name}: ${difference.at}`)
  const steps = asked.steps.map((step, index) => ({ ...step, answer: theirs[index]! }))
  const known = JSON.parse(readFileSync(recordings, 'utf8')) as Recorded[]
  known.push({ name, steps })
  writeFileSync(recordings, `[\n${known.map((scenario) => JSON.stringify(scenario)).join(',\n')}\n]\n`)
}

const summary = new Summary()
const recorded = new Map<string, number>()
try {
  const given = values.cases ? (JSON.parse(readFileSync(values.cases, 'utf8')) as Recorded[]) : []
  for (const { name, steps } of given) await keep(name, { steps })
  const first = Number(values.seed) * 1_000_000
  for (let index = 0; index < (values.cases ? 0 : Number(values.count)); index++) {
    const asked = generator.make(first + index)
    const played = await play(asked).catch((error: NodeJS.ErrnoException) => {
      // A real server that panics ends the connection.
      if (error.code !== 'ECONNRESET') throw error
      console.log(JSON.stringify({ seed: first + index, kind: asked.kind, skipped: 'the connection was reset' }))
    })
    if (!played) continue
    for (const [place, difference] of differencesOf(played).entries()) {
      summary.add(asked.kind, difference)
      if (!difference) continue
      const { kind, operation, what } = asked
      console.log(JSON.stringify({ seed: first + index, kind, operation, what, step: place, ...difference }))
      const key = `${kind} ${keyOf(difference)}`
      const times = recorded.get(key) ?? 0
      recorded.set(key, times + 1)
      if (times < Number(values.record)) await record(asked, place, difference)
      break
    }
  }
} finally {
  console.log(summary.text())
  await ours.close()
  await theirs.close()
}
