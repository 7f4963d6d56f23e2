// `npm run faults -- --minutes 60 [--seed N] [--servers N]`: faults in random order on a cluster under load. Prints the report as JSON; exit code 1 when an invariant did not hold.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { siege } from './siege.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    servers: { type: 'string', default: '1' },
  },
})
const seed = Number(values.seed ?? randomInt(1_000_000))
const say = (line: string): void => void process.stderr.write(`${line}\n`)
say(`seed ${seed}`)
const report = await siege({
  seed,
  servers: Number(values.servers),
  until: { ms: Number(values.minutes) * 60_000 },
  say,
})
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`)
process.exit(report.violations.length > 0 ? 1 : 0)
