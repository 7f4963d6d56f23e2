// `npm run growth [-- --only 'Pod spec.*create'] [--size 8000] [--largest]`: every array and map of every kind with every verb. Exit code 1 where one costs more than in proportion.
import { parseArgs } from 'node:util'
import { ServerProcess } from '../server-process.ts'
import { allShapes, kindsWithCollections, subjectOf, verbsOf } from './fields.ts'
import { Judge, type Verdict } from './judge.ts'
import { Meter } from './meter.ts'
import { growthDefinition, situations } from './situations/index.ts'
import { type Work, workOf } from './writes.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    size: { type: 'string', default: '8000' },
    largest: { type: 'boolean' },
  },
})
const only = new RegExp(values.only)
const size = Number(values.size)
const ends: (() => unknown)[] = []
const server = await ServerProcess.start({ teardown: (end) => void ends.push(end) })
const meter = new Meter(server)
const judge = new Judge(meter)
const found: string[] = []
let count = 0

async function look(name: string, work: (size: number) => Work): Promise<void> {
  if (!only.test(name)) return
  count++
  if (values.largest) {
    const { isQuick, text, codes } = await judge.largest(work)
    report(name, isQuick ? '' : 'NOT QUICK ', `${text} (${codes})`)
  } else {
    const { isLinear, text, codes }: Verdict = await judge.look(work, size)
    report(name, isLinear ? '' : 'NOT LINEAR ', `${text} (${codes})`)
  }
}

function report(name: string, fault: string, text: string): void {
  process.stdout.write(`${fault}${name}: ${text}\n`)
  if (fault) found.push(`${fault}${name}: ${text}`)
}

await meter.ask(growthDefinition())
for (const { name, work } of situations) await look(name, work)
for (const { kind, fields } of kindsWithCollections) {
  const unwatch = meter.watchKind(kind)
  for (const field of fields) {
    for (const shape of allShapes) {
      const subject = subjectOf(kind, field, shape)
      for (const verb of verbsOf(kind)) {
        const name = `${kind.kind} ${field.path.join('.')}, ${shape}: ${verb}`
        await look(name, (size) => workOf(subject, verb, size))
      }
    }
  }
  unwatch()
}
process.stdout.write(`${count} looked at, ${found.length} at fault, ${(judge.cpuMs / 1000).toFixed(0)} s of CPU time\n`)
for (const line of found) process.stdout.write(`${line}\n`)
meter.leave()
for (const end of ends) await end()
process.exit(found.length > 0 ? 1 : 0)
