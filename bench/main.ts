/**
 * `npm run bench`: what Kubestage does in a second, and what the same machine would do at best. See
 * docs/performance.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { realClock } from '../shared/clock/real-clock.ts'
import { measureAggregation, whyNoAggregation } from './aggregation.ts'
import { auditFlags, measureAudit } from './audit.ts'
import { writeCharts } from './charts/charts.ts'
import type { Etcd } from './compare/etcd-server.ts'
import { median } from './load.ts'
import {
  fill,
  fillWithOthers,
  measureApplies,
  measureList,
  measureMemory,
  measureRequests,
  measureWatches,
  type Pair,
  prepare,
  sampleOf,
} from './measure.ts'
import { measureMassDeletion, measurePods } from './pods.ts'
import { measurePolicies } from './policies.ts'
import {
  bareStart,
  dnsCost,
  hookTimes,
  kubeletRss,
  probeCost,
  type Server,
  startBareServer,
  startKubestage,
  startSimulatedCluster,
  withoutNft,
} from './processes.ts'
import { comparisonTable, type Row, table } from './report.ts'
import { measureServiceRequests } from './service-requests.ts'
import { measureStarts } from './starts/starts.ts'

const HELP = `Usage: npm run bench -- [--against COMMIT] [--only PARTS] [--storage etcd] [--real BIN] [--scale PODS] [--rounds N] [--pods N] [--profile DIR] [--write]

  --only PARTS   some of start,requests,policies,audit,aggregation,list,watch,http2,memory,pods,levels,simulated,many,hooks,probes,network (default: all); ui alone: the page, by CHROMIUM
  --chromium FILE  for --only ui (default /usr/bin/chromium)
  --against COMMIT  compares the CPU time of create, get, patch, watch and start with that of a commit; nothing else. Ends with 1
                 if one is slower. day-before: the last commit that is a day older than this one, in CI's short form, which
                 fails for 8 %. --only create,get,patch,watch,start: some of them; --rounds N: how often both servers are started anew (default 5)
  --real BIN     runs kube-apiserver and etcd, the programs in the folder BIN, beside us, in turns and with the same client,
                 and compares rates and CPU time per request (with --only real: nothing else)
  --containerd BIN  runs the pods of --only levels with the containerd of the folder BIN as well
  --storage etcd objects in etcd (the program on the PATH, or in BIN): beside kube-apiserver on the same etcd with --real,
                 else beside objects in memory; also two servers on one etcd, and creates beside bare puts
  --scale PODS   so many simulated pods, step by step, on --simulated-nodes, in memory or with --storage etcd; nothing else
  --simulated-nodes N   for --scale (default 1000)
  --minutes N    how long --scale may take (default 60)
  --rounds N     how often each figure is taken; the median counts (default 5)
  --pods N       how many pods are brought to Running (default 100), and beside 100,000 other objects
  --profile DIR  writes a CPU profile of the server there
  --write        puts what was measured into docs/performance.md or, of --storage and --scale, into docs/scale.md, and draws the
                 charts of docs/pictures from it
`
const EVERYTHING =
  'start,requests,policies,audit,aggregation,list,watch,http2,memory,pods,levels,simulated,many,hooks,probes,network'
const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: EVERYTHING },
    against: { type: 'string' },
    real: { type: 'string' },
    containerd: { type: 'string' },
    storage: { type: 'string', default: 'memory' },
    scale: { type: 'string' },
    'simulated-nodes': { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '5' },
    pods: { type: 'string', default: '100' },
    profile: { type: 'string' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const parts = flags.only.split(',')
const rounds = Number(flags.rounds)
/** A start is short, and what else the machine does is long. */
const startRounds = Math.max(rounds, 10)
/** What the start took is given back by then. */
const SETTLED_MS = 1_500
const BARE_API = ['--kubelet=false', '--scheduler=false']

async function withKubestage<T>(
  flagsOfUp: string[],
  use: (server: Server, stateDir: string) => Promise<T>,
  before?: readonly string[],
): Promise<T> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const asNpx = flags.scale !== undefined
  const server = await startKubestage({ stateDir, flags: flagsOfUp, profileDir: flags.profile, asNpx, before })
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
    await withKubestage(BARE_API, async (server) => {
      await realClock.sleep(SETTLED_MS)
      starts.push({ readyMs: server.readyMs, rss: server.rssMegabytes() })
    })
  }
  const readyMs = median(starts.map((start) => start.readyMs))
  const rss = median(starts.map((start) => start.rss))
  return [
    { what: 'start to /readyz', unit: 'ms', ours: readyMs, limit: 1_000, smallerIsBetter: true },
    { what: 'RSS after the start', unit: 'MB', ours: rss, limit: 90, smallerIsBetter: true },
    ...(await measureStarts(startRounds)),
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
        ...(parts.includes('requests')
          ? [...(await measureRequests(pair)), ...(await measureApplies(ours, rounds))]
          : []),
        ...(parts.includes('watch') ? await measureWatches(pair) : []),
      ]
    } finally {
      await bare.stop()
    }
  })
}

async function measurePolicedCreates(): Promise<Row[]> {
  return withKubestage(BARE_API, async (server) => {
    await prepare(server.target)
    return measurePolicies(server, rounds)
  })
}

async function measureAuditedRequests(): Promise<Row[]> {
  return withKubestage(BARE_API, async (without) => {
    const folder = mkdtempSync(join(tmpdir(), 'kubestage-audit-'))
    try {
      const flagsOfUp = [...BARE_API, ...auditFlags(folder)]
      return await withKubestage(flagsOfUp, (audited) => measureAudit({ with: audited, without }, rounds))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

async function measureAggregatedRequests(): Promise<Row[]> {
  const why = whyNoAggregation()
  if (why !== undefined) {
    process.stderr.write(`${why}\n`)
    return []
  }
  return withKubestage(BARE_API, (server, folder) => measureAggregation(server, { folder, rounds }))
}

const MANY_PODS = 100_000

async function measureManyPods(): Promise<Row[]> {
  return withKubestage(BARE_API, async (server) => {
    await prepare(server.target)
    return measureMemory(server, MANY_PODS)
  })
}

const ISOLATIONS = [
  { isolation: 'none', limit: 300 },
  { isolation: 'pod', limit: 200 },
] as const
const MANY = 900
const OTHERS = 100_000

const nodeFlags = (isolation: string): string[] => ['--isolation', isolation, '--max-pods', String(2 * MANY)]

/** A fresh cluster's programs are cold: the first of the rounds is not counted. */
async function measureCluster({ isolation, limit }: (typeof ISOLATIONS)[number]): Promise<Row[]> {
  const count = Number(flags.pods)
  return withKubestage(nodeFlags(isolation), async (server) => {
    await prepare(server.target)
    await measurePods(server, count)
    const figures = []
    for (let i = 0; i < rounds; i++) figures.push(await measurePods(server, count))
    const running = median(figures.map(({ runningPerSecond }) => runningPerSecond))
    const gone = median(figures.map(({ gonePerSecond }) => gonePerSecond))
    const rows: Row[] = [
      { what: `${count} pods to Running, isolation ${isolation}`, unit: 'pods/s', ours: running, limit },
      { what: 'the same deleted to gone', unit: 'pods/s', ours: gone },
    ]
    if (isolation !== 'none') return rows
    await fillWithOthers(server.target, OTHERS)
    const beside = []
    for (let i = 0; i < rounds; i++) beside.push((await measurePods(server, count)).runningPerSecond)
    const what = `pods beside ${OTHERS.toLocaleString('en')} other objects`
    return [...rows, { what, unit: 'pods/s', ours: median(beside), ceiling: running, goal: 0.9 }]
  })
}

const SIMULATED = 1_000
const SIMULATED_A_NODE = 100

/** Only root has all levels. */
async function measureLevelRows(): Promise<Row[]> {
  const { measureLevels, whyNoLevels } = await import('./levels/levels.ts')
  const why = whyNoLevels()
  if (!why) return measureLevels(withKubestage, rounds, flags.containerd)
  process.stderr.write(`levels are not measured: ${why}\n`)
  return []
}

/** As {@link measureCluster}, in the library's own process. */
async function measureSimulated(): Promise<Row[]> {
  const server = await startSimulatedCluster(SIMULATED / SIMULATED_A_NODE)
  try {
    await prepare(server.target)
    await measurePods(server, SIMULATED)
    const figures = []
    for (let i = 0; i < rounds; i++) figures.push(await measurePods(server, SIMULATED))
    const running = median(figures.map(({ runningPerSecond }) => runningPerSecond))
    const gone = median(figures.map(({ gonePerSecond }) => gonePerSecond))
    const what = `${SIMULATED.toLocaleString('en')} simulated pods to Running`
    return [
      { what, unit: 'pods/s', ours: running, limit: 2_000 },
      { what: 'the same deleted to gone', unit: 'pods/s', ours: gone, limit: 2_000 },
    ]
  } finally {
    await server.stop()
  }
}

async function measureMany(): Promise<Row[]> {
  return withKubestage(nodeFlags('pod'), async (server, stateDir) => {
    await prepare(server.target)
    await realClock.sleep(1_000) // the kubelet's start is over then
    const atReady = kubeletRss(stateDir)
    const { rssMegabytes: ceiling } = await bareStart(join(stateDir, 'pki'))
    const memory = () => kubeletRss(stateDir)
    const { termSpreadMs, tailMs, whileRunning } = await measureMassDeletion(server, { count: MANY, memory })
    const perPod = ((whileRunning - atReady) * 1000) / MANY
    return [
      {
        what: 'kubelet RSS at ready; bare fastify',
        unit: 'MB',
        ours: atReady,
        ceiling,
        limit: 60,
        smallerIsBetter: true,
      },
      { what: `the same per pod, of ${MANY}`, unit: 'KB', ours: perPod, limit: 40, smallerIsBetter: true },
      {
        what: `${MANY} pods deleted: first TERM to last`,
        unit: 'ms',
        ours: termSpreadMs,
        limit: 250,
        smallerIsBetter: true,
      },
      {
        what: 'last container ended to last object gone',
        unit: 'ms',
        ours: tailMs,
        limit: 2_000,
        smallerIsBetter: true,
      },
    ]
  })
}

async function measureHooks(): Promise<Row[]> {
  const { execMs, isolatedExecMs, spawnMs, httpMs, requestMs } = await hookTimes()
  const goal = { unit: 'ms', goal: 2, smallerIsBetter: true }
  return [
    { what: 'exec hook, p50; bare spawn', ...goal, ours: execMs, ceiling: spawnMs },
    ...(isolatedExecMs ? [{ what: 'the same in namespaces', ...goal, ours: isolatedExecMs, ceiling: spawnMs }] : []),
    { what: 'HTTP hook, p50; bare request', ...goal, ours: httpMs, ceiling: requestMs },
  ]
}

async function measureProbes(): Promise<Row[]> {
  const { percent } = await probeCost()
  return [
    { what: '5,000 probes, beside what they do', unit: '% of a core', ours: percent, limit: 1, smallerIsBetter: true },
  ]
}

/** Root alone hides a file of the machine from a cluster. */
async function measureOwnNetworks(same: Pick<Row, 'unit' | 'smallerIsBetter'>): Promise<Row[]> {
  const count = Number(flags.pods)
  const own = [...nodeFlags('pod'), '--network=pod']
  const measured = async (program?: readonly string[]) =>
    withKubestage(
      own,
      async (server, stateDir) => {
        await prepare(server.target)
        return measureServiceRequests(join(stateDir, 'kubeconfig'), rounds)
      },
      program,
    )
  const rows: Row[] = []
  const rules = await measured()
  rows.push({
    what: 'request by a cluster IP, p50; to the pod',
    ...same,
    ours: rules.serviceMs,
    ceiling: rules.directMs,
    goal: 1.2,
  })
  const user = await measured(withoutNft())
  rows.push({ what: 'the same without nft', ...same, ours: user.serviceMs, ceiling: user.directMs, goal: 2 })
  const figures = await withKubestage(own, async (server) => {
    await prepare(server.target)
    await measurePods(server, count)
    const all = []
    for (let i = 0; i < rounds; i++) all.push(await measurePods(server, count))
    return all
  })
  const running = median(figures.map(({ runningPerSecond }) => runningPerSecond))
  const gone = median(figures.map(({ gonePerSecond }) => gonePerSecond))
  rows.push({ what: `${count} pods to Running, --network pod`, unit: 'pods/s', ours: running, limit: 60 })
  rows.push({ what: 'the same deleted to gone', unit: 'pods/s', ours: gone })
  return rows
}

async function measureNetwork(): Promise<Row[]> {
  const { perSecond, cpuMicroseconds } = await dnsCost()
  const ofNodes = { unit: 'ms', smallerIsBetter: true }
  return [
    ...(process.getuid?.() === 0 ? await measureOwnNetworks(ofNodes) : []),
    { what: 'answers of DNS; client and server', unit: '/s', ours: perSecond, limit: 10_000 },
    { what: 'CPU time of the kubelet for one', unit: 'µs', ours: cpuMicroseconds, limit: 100, smallerIsBetter: true },
  ]
}

async function measurePage(): Promise<Row[]> {
  const { measureUi } = await import('./ui/ui.ts')
  return withKubestage(BARE_API, async (server) => {
    await prepare(server.target)
    return measureUi(server, { rounds, program: flags.chromium })
  })
}

/** Sections of docs/performance.md and docs/scale.md. */
const documents = {
  bench: 'performance.md',
  real: 'performance.md',
  http2: 'performance.md',
  ui: 'performance.md',
  etcd: 'scale.md',
  'scale-etcd': 'scale.md',
} as const
type Part = keyof typeof documents

function writeDocument(part: Part, text: string): void {
  const file = join(import.meta.dirname, '../docs', documents[part])
  const [before, after] = [`<!-- ${part}: begin -->`, `<!-- ${part}: end -->`]
  const document = readFileSync(file, 'utf8')
  const head = document.slice(0, document.indexOf(before) + before.length)
  writeFileSync(file, `${head}\n${text}\n${document.slice(document.indexOf(after))}`)
  writeCharts(join(import.meta.dirname, '../docs'), part)
}

function show(part: Part, text: string): void {
  process.stdout.write(`${text}\n`)
  if (flags.write) writeDocument(part, text)
}

async function startForVersus(...more: string[]): Promise<Server> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-bench-'))
  const server = await startKubestage({ stateDir, flags: [...BARE_API, ...more] })
  const stop = async (): Promise<void> => {
    await server.stop()
    rmSync(stateDir, { recursive: true, force: true })
  }
  return { ...server, stop }
}

/** The storage flags of a server, and etcd when they name it: one for each cluster that is started. */
async function startStorage(): Promise<{ flags: string[]; etcd: Etcd | undefined; stop(): Promise<void> }> {
  if (flags.storage !== 'etcd') return { flags: [], etcd: undefined, stop: async () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-etcd-'))
  const { startEtcd } = await import('./compare/etcd-server.ts')
  const etcd = await startEtcd({ program: flags.real ? join(flags.real, 'etcd') : 'etcd', folder })
  const stop = async (): Promise<void> => {
    await etcd.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { flags: ['--storage', `etcd:${etcd.url}`], etcd, stop }
}

async function growCluster(pods: number): Promise<string> {
  const [{ measureScale }, { scaleText }] = await Promise.all([import('./scale/scale.ts'), import('./scale/report.ts')])
  const nodes = Number(flags['simulated-nodes'])
  const storage = await startStorage()
  try {
    return await withKubestage([...storage.flags, '--simulated-nodes', String(nodes)], async (server) =>
      scaleText(await measureScale({ pods, nodes, minutes: Number(flags.minutes), server, etcd: storage.etcd })),
    )
  } finally {
    await storage.stop()
  }
}

/** Says what is compared, also where nothing is. */
async function compareWith(given: string): Promise<void> {
  const [
    { figureNames, gate, measureAgainst, usual },
    { dayBefore },
    { verdictTable },
    { builtPackage, packageOf, titleOf },
  ] = await Promise.all([
    import('./compare/against.ts'),
    import('./compare/day-before.ts'),
    import('./compare/verdict.ts'),
    import('./package.ts'),
  ])
  const isGate = given === 'day-before'
  const found = isGate ? dayBefore(join(import.meta.dirname, '..')) : { commit: given }
  if ('why' in found) {
    process.stdout.write(`The speed gate compared with nothing: ${found.why}.\n`)
    return
  }
  process.stdout.write(`Compares the CPU time of these sources with that of ${titleOf(found.commit)}.\n`)
  const packages = { now: builtPackage(), then: packageOf(found.commit) }
  const chosen = figureNames.filter((name) => parts.includes(name))
  const figures = chosen.length > 0 && flags.only !== EVERYTHING ? chosen : figureNames
  const options = { packages, flags: BARE_API, figures, pairs: rounds, ...usual }
  const verdicts = isGate ? await gate(options) : await measureAgainst(options)
  process.stdout.write(`${verdictTable(verdicts)}\n\n${machine}; ${busy()}.\n`)
  if (verdicts.some(({ word }) => word === 'slower')) process.exitCode = 1
}

// What a signal ends leaves no server behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.versions.node}`
const busy = (): string => `load average at the end ${loadavg()[0]?.toFixed(1)}`

if (flags.help) {
  process.stdout.write(HELP)
} else if (flags.against) {
  await compareWith(flags.against)
} else if (flags.storage === 'etcd' && !flags.scale) {
  const { measureEtcd } = await import('./compare/etcd.ts')
  const start = (stateDir: string, more: readonly string[]) =>
    startKubestage({ stateDir, flags: [...BARE_API, ...more], profileDir: flags.profile })
  const { requests, puts, servers } = await measureEtcd({ bin: flags.real, rounds, start })
  const tables = [
    comparisonTable(requests, flags.real ? 'kube-apiserver' : 'in memory'),
    comparisonTable(puts, 'bare puts'),
    comparisonTable(servers, 'one server').replace('Kubestage', 'two servers'),
  ]
  show('etcd', `${tables.join('\n\n')}\n\n${machine}; median of ${rounds}; ${busy()}.`)
} else if (flags.scale) {
  const text = await growCluster(Number(flags.scale))
  const all = `${text}\n\n${machine}; ${busy()}.`
  if (flags.storage === 'etcd') show('scale-etcd', all)
  else process.stdout.write(`${all}\n`)
} else {
  const rows: Row[] = []
  if (parts.includes('start')) rows.push(...(await measureStart()))
  if (['requests', 'list', 'watch'].some((part) => parts.includes(part))) rows.push(...(await measureServer()))
  if (parts.includes('policies')) rows.push(...(await measurePolicedCreates()))
  if (parts.includes('audit')) rows.push(...(await measureAuditedRequests()))
  if (parts.includes('aggregation')) rows.push(...(await measureAggregatedRequests()))
  if (parts.includes('memory')) rows.push(...(await measureManyPods()))
  if (parts.includes('pods')) for (const kind of ISOLATIONS) rows.push(...(await measureCluster(kind)))
  if (parts.includes('levels')) rows.push(...(await measureLevelRows()))
  if (parts.includes('simulated')) rows.push(...(await measureSimulated()))
  if (parts.includes('many')) rows.push(...(await measureMany()))
  if (parts.includes('hooks')) rows.push(...(await measureHooks()))
  if (parts.includes('probes')) rows.push(...(await measureProbes()))
  if (parts.includes('network')) rows.push(...(await measureNetwork()))
  if (rows.length > 0) show('bench', `${table(rows)}\n\n${machine}; median of ${rounds}, of starts ${startRounds}.`)
  if (parts.includes('http2')) {
    const { measureHttp2 } = await import('./compare/http2.ts')
    const comparisons = await measureHttp2(startForVersus, rounds)
    show('http2', `${comparisonTable(comparisons, '--http2=node')}\n\n${machine}; median of ${rounds}.`)
  }
  if (parts.includes('ui')) {
    show('ui', `${table(await measurePage())}\n\n${machine}; median of ${rounds}; ${busy()}.`)
  }
  if (flags.real) {
    const { measureVersus } = await import('./compare/versus.ts')
    const comparisons = await measureVersus({ bin: flags.real, rounds, startOurs: () => startForVersus() })
    show(
      'real',
      `${comparisonTable(comparisons, 'kube-apiserver + etcd')}\n\n${machine}; median of ${rounds}; ${busy()}.`,
    )
  }
}
