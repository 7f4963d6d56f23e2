import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { nodeFlags, withKubestage } from '../cluster.ts'
import { median } from '../load.ts'
import { fillWithOthers, prepare } from '../measure.ts'
import { options, rounds } from '../options.ts'
import { measureMassDeletion, measurePods } from '../pods.ts'
import { bareStart, kubeletRss, type Server, startSimulatedCluster } from '../processes.ts'
import type { Row } from '../report.ts'

const isolations = [
  { isolation: 'none', limit: 300 },
  { isolation: 'pod', limit: 200 },
] as const
const OTHERS = 100_000
const MANY = 900
const SIMULATED = 1_000
const SIMULATED_A_NODE = 100

/** How many pods come to run and go in a second: medians. The first round is not counted, for programs are cold. */
async function podRates(server: Server, count: number): Promise<{ running: number; gone: number }> {
  await prepare(server.target)
  await measurePods(server, count)
  const figures: Awaited<ReturnType<typeof measurePods>>[] = []
  for (let i = 0; i < rounds; i++) figures.push(await measurePods(server, count))
  return {
    running: median(figures.map(({ runningPerSecond }) => runningPerSecond)),
    gone: median(figures.map(({ gonePerSecond }) => gonePerSecond)),
  }
}

export async function measureIsolations(): Promise<Row[]> {
  const rows: Row[] = []
  for (const kind of isolations) rows.push(...(await measureCluster(kind)))
  return rows
}

async function measureCluster({ isolation, limit }: (typeof isolations)[number]): Promise<Row[]> {
  const count = Number(options.pods)
  return withKubestage(nodeFlags(isolation), async (server) => {
    const { running, gone } = await podRates(server, count)
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

/** Pods of a node with a network of its own. Root alone has one that is as fast as this. */
export async function measureNetworkPods(): Promise<Row[]> {
  if (process.getuid?.() !== 0) return []
  const count = Number(options.pods)
  const { running, gone } = await withKubestage([...nodeFlags('pod'), '--network=pod'], (server) =>
    podRates(server, count),
  )
  return [
    { what: `${count} pods to Running, --network pod`, unit: 'pods/s', ours: running, limit: 60 },
    { what: 'the same deleted to gone', unit: 'pods/s', ours: gone },
  ]
}

/** Pods of images with and without networks and limits of their own. Only root has all levels. */
export async function measureLevelRows(): Promise<Row[]> {
  const { measureLevels, whyNoLevels } = await import('../levels/levels.ts')
  const why = whyNoLevels()
  if (!why) return measureLevels(withKubestage, rounds, options.containerd)
  process.stderr.write(`levels are not measured: ${why}\n`)
  return []
}

/** Pods of simulated nodes, in the library's own process. */
export async function measureSimulated(): Promise<Row[]> {
  const server = await startSimulatedCluster(SIMULATED / SIMULATED_A_NODE)
  try {
    const { running, gone } = await podRates(server, SIMULATED)
    const what = `${SIMULATED.toLocaleString('en')} simulated pods to Running`
    return [
      { what, unit: 'pods/s', ours: running, limit: 2_000 },
      { what: 'the same deleted to gone', unit: 'pods/s', ours: gone, limit: 2_000 },
    ]
  } finally {
    await server.stop()
  }
}

/** What many pods of a node take of the kubelet's memory, and how long they take to end together. */
export async function measureMany(): Promise<Row[]> {
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
