/** `npm run bench`: what Kubestage does in a second, and what the same machine would do at best. See docs/performance.md. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median } from './load.ts'
import {
  fill,
  measureList,
  measurePods,
  measureRequests,
  measureWatches,
  type Pair,
  prepare,
  sampleOf,
} from './measure.ts'
import { bareSpawn, type Server, startBareServer, startKubestage } from './processes.ts'
import { type Row, table } from './report.ts'

const HELP = `Usage: npm run bench -- [--only PARTS] [--rounds N] [--pods N] [--profile DIR] [--write]

  --only PARTS   some of start,requests,list,watch,pods (default: all)
  --rounds N     how often each figure is taken; the median counts (default 3)
  --pods N       how many pods are brought to Running (default 100; a node takes 110)
  --profile DIR  writes a CPU profile of the server there
  --write        puts the table into docs/performance.md
`
const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: 'start,requests,list,watch,pods' },
    rounds: { type: 'string', default: '3' },
    pods: { type: 'string', default: '100' },
    profile: { type: 'string' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const parts = flags.only.split(',')
const rounds = Number(flags.rounds)
const BARE_API = ['--kubelet=false', '--scheduler=false']

async function withKubestage<T>(
  flagsOfUp: string[],
  use: (server: Server, stateDir: string) => Promise<T>,
): Promise<T> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const server = await startKubestage({ stateDir, flags: flagsOfUp, profileDir: flags.profile })
  try {
    return await use(server, stateDir)
  } finally {
    await server.stop()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

async function measureStart(): Promise<Row[]> {
  const starts: { readyMs: number; rss: number }[] = []
  for (let i = 0; i < rounds + 1; i++) {
    await withKubestage(BARE_API, async (server) =>
      starts.push({ readyMs: server.readyMs, rss: server.rssMegabytes() }),
    )
  }
  const readyMs = median(starts.map((start) => start.readyMs))
  const rss = median(starts.map((start) => start.rss))
  return [
    { what: 'start to /readyz', unit: 'ms', ours: readyMs, limit: 1_000, smallerIsBetter: true, real: 2_400 },
    { what: 'RSS at ready', unit: 'MB', ours: rss, limit: 90, smallerIsBetter: true, real: 283 },
  ]
}

async function measureServer(): Promise<Row[]> {
  return withKubestage(BARE_API, async (ours, stateDir) => {
    await prepare(ours.target)
    const sampleFile = join(stateDir, 'sample.json')
    writeFileSync(sampleFile, await sampleOf(ours.target))
    const bare = await startBareServer({ pkiDir: join(stateDir, 'pki'), sampleFile, like: ours.target })
    try {
      const pair: Pair = { ours, bare, rounds }
      await fill(pair)
      const rss = ours.rssMegabytes()
      return [
        { what: 'RSS with 10,000 pods', unit: 'MB', ours: rss, limit: 180, smallerIsBetter: true },
        ...(parts.includes('list') ? await measureList(pair) : []),
        ...(parts.includes('requests') ? await measureRequests(pair) : []),
        ...(parts.includes('watch') ? await measureWatches(pair) : []),
      ]
    } finally {
      await bare.stop()
    }
  })
}

async function measureCluster(): Promise<Row[]> {
  const count = Number(flags.pods)
  return withKubestage([], async (server) => {
    await prepare(server.target)
    const { runningPerSecond, gonePerSecond } = await measurePods(server, count)
    const ceiling = await bareSpawn(count)
    return [
      { what: `${count} pods to Running`, unit: 'pods/s', ours: runningPerSecond, ceiling, goal: 0.4, real: 182 },
      { what: `${count} pods deleted to gone`, unit: 'pods/s', ours: gonePerSecond, real: 213 },
    ]
  })
}

function writeDocument(text: string): void {
  const file = join(import.meta.dirname, '../docs/performance.md')
  const [before, after] = ['<!-- bench: begin -->', '<!-- bench: end -->']
  const document = readFileSync(file, 'utf8')
  const head = document.slice(0, document.indexOf(before) + before.length)
  writeFileSync(file, `${head}\n${text}\n${document.slice(document.indexOf(after))}`)
}

if (flags.help) {
  process.stdout.write(HELP)
} else {
  const rows: Row[] = []
  if (parts.includes('start')) rows.push(...(await measureStart()))
  if (['requests', 'list', 'watch'].some((part) => parts.includes(part))) rows.push(...(await measureServer()))
  if (parts.includes('pods')) rows.push(...(await measureCluster()))
  const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.versions.node}; median of ${rounds}.`
  const text = `${table(rows)}\n\n${machine}`
  process.stdout.write(`${text}\n`)
  if (flags.write) writeDocument(text)
}
