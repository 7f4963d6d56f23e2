// `npm run robustness -- --kills 1000 [--minutes N] [--times 1] [--seed N] [--storage memory|sqlite|etcd] [--servers 2] [--members 3] [--kubelets 2]`: load, one fault in each round, and what
// every client saw checked after it. Prints the report as JSON; exit code 1 when a guarantee did not hold. ETCD_BIN names another etcd.
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { etcdPrograms, noEtcd } from '../harness/etcd.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { buildChecker } from './checker.ts'
import { type KubeletStormReport, kubeletStorm } from './kubelets/storm.ts'
import { type StormOptions, type StormReport, storm } from './storm.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string' },
    minutes: { type: 'string' },
    times: { type: 'string', default: '1' },
    seed: { type: 'string' },
    storage: { type: 'string', default: 'sqlite' },
    servers: { type: 'string' },
    members: { type: 'string', default: '3' },
    kubelets: { type: 'string', default: '0' },
  },
})
const { storage } = values
if (storage !== 'memory' && storage !== 'sqlite' && storage !== 'etcd')
  throw new Error('--storage is memory, sqlite or etcd')
const [program] = etcdPrograms()
if (storage === 'etcd' && !program) throw new Error(noEtcd)
const say = (line: string): void => void process.stderr.write(`${line}\n`)
const seed = Number(values.seed ?? randomInt(1_000_000))
say(`seed ${seed}`)

const ends: (() => unknown)[] = []
const run = { teardown: (end: () => unknown): void => void ends.push(end) }
const usual = { memory: '2', sqlite: '1', etcd: '2' }
const servers = Number(values.servers ?? usual[storage])
const options: StormOptions = {
  seed,
  kills: Number(values.kills ?? (values.minutes ? Number.POSITIVE_INFINITY : 100)),
  ...(values.minutes && { minutes: Number(values.minutes) }),
  times: Number(values.times),
  storage,
  servers,
  members: Number(values.members),
  program,
  say,
}
try {
  const report = Number(values.kubelets) > 0 ? await onKubelets() : await onObjects()
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`)
  process.exitCode = report.violations.length > 0 ? 1 : 0
} finally {
  for (const end of ends.reverse()) await end()
}

async function onKubelets(): Promise<KubeletStormReport> {
  return await kubeletStorm(run, { ...options, kubelets: Number(values.kubelets) })
}

async function onObjects(): Promise<StormReport> {
  const checker = join(scratchFolder(run, 'checker'), 'checker')
  const obstacle = await buildChecker(checker)
  if (obstacle) throw new Error(obstacle)
  return await storm(run, { ...options, checker })
}
