/** What images and networks of pods cost: rows of `npm run bench -- --only levels`. They need root and a static busybox. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { median } from '../load.ts'
import { prepare } from '../measure.ts'
import { builtPackage } from '../package.ts'
import { measurePods, type PodFigures } from '../pods.ts'
import { kubeletRss, type Server } from '../processes.ts'
import { type Row, reportNow } from '../report.ts'
import { timeToNodeReady } from '../starts/starts.ts'
import { fiveLayers, largeImage } from './images.ts'

type WithCluster = <T>(flags: string[], use: (server: Server, stateDir: string) => Promise<T>) => Promise<T>

const IMAGE = 'bench/five:1'
interface Level {
  name: string
  count: number
  flags: readonly string[]
  limit?: number
  load?(archive: string): Promise<unknown>
}

/** A node has addresses for 252 pods with networks. */
const levels: readonly Level[] = [
  { name: 'network host', count: 300, flags: ['--network', 'host'], limit: 120 },
  { name: 'network pod', count: 250, flags: ['--network', 'pod'], limit: 60 },
]

/** Says what this machine lacks for these rows. */
export function whyNoLevels(): string | undefined {
  if (process.getuid?.() !== 0) return 'networks of pods that the machine reaches need root'
  return existsSync('/bin/busybox') ? undefined : 'the image is made of a static busybox: Debian has busybox-static'
}

/** `containerd`: the folder of the programs of one, which then runs the same pods behind the same kubelet. */
export async function measureLevels(withCluster: WithCluster, rounds: number, containerd?: string): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-bench-images-'))
  const ends: (() => unknown)[] = []
  try {
    const archive = fiveLayers(mkdirIn(folder, 'five'), IMAGE)
    const rows: Row[] = []
    const anchors = containerd ? [await levelOf(containerd, (end) => ends.push(end))] : []
    for (const level of [...levels, ...anchors])
      rows.push(...(await measurePodsOf(withCluster, level, { archive, rounds })).map(reportNow))
    rows.push(reportNow(await measureLoad(mkdirIn(folder, 'large'), rounds)))
    return [...rows, ...(await measureIdle(folder, rounds))]
  } finally {
    for (const end of ends) await end()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Pods of containerd have addresses of its CNI bridge. They are fewer, since each takes about twenty times as long. */
async function levelOf(bin: string, onEnd: (end: () => unknown) => void): Promise<Level> {
  const { startContainerd, whyNoContainerd } = await import('../../test/harness/containerd.ts')
  const why = whyNoContainerd(bin)
  if (why) throw new Error(`containerd is not measured: ${why}`)
  const { ctr, endpoint } = await startContainerd({ teardown: onEnd }, bin)
  return {
    name: 'containerd with a CNI bridge',
    count: 50,
    flags: ['--runtime', `cri:${endpoint}`],
    load: (archive) => ctr('images', 'import', archive),
  }
}

function mkdirIn(folder: string, name: string): string {
  const made = join(folder, name)
  mkdirSync(made)
  return made
}

const kubestage = (...words: string[]): unknown =>
  execFileSync(process.execPath, [join(builtPackage(), 'bin/kubestage.mjs'), ...words], { stdio: 'ignore' })

async function measurePodsOf(
  withCluster: WithCluster,
  { name, count, flags, limit, load }: Level,
  { archive, rounds }: { archive: string; rounds: number },
): Promise<Row[]> {
  const maxPods = ['--max-pods', String(count + 10), ...(load ? [] : ['--pull-images', 'never'])]
  const withImage = <T>(use: (server: Server) => Promise<T>): Promise<T> =>
    withCluster([...flags, ...maxPods], async (server, stateDir) => {
      await prepare(server.target)
      await (load?.(archive) ?? kubestage('image', 'load', archive, '--state-dir', stateDir))
      return use(server)
    })
  const ofPods = (server: Server, number: number): Promise<PodFigures> => measurePods(server, number, { image: IMAGE })
  const firsts: PodFigures[] = []
  for (let round = 0; round < rounds; round++) firsts.push(await withImage((server) => ofPods(server, 1)))
  const many = await withImage(async (server) => {
    const figures: PodFigures[] = []
    for (let round = 0; round <= rounds; round++) figures.push(await ofPods(server, count))
    return figures.slice(1) // the first warms up
  })
  const first = median(firsts.map(({ runningPerSecond }) => 1_000 / runningPerSecond))
  const running = median(many.map(({ runningPerSecond }) => runningPerSecond))
  const cpu = median(many.map(({ cpuMsOfPod }) => cpuMsOfPod))
  return [
    {
      what: `first pod of a cluster, ${name}`,
      unit: 'ms',
      ours: first,
      limit: load ? undefined : 150,
      smallerIsBetter: true,
    },
    { what: `${count} pods of an image, ${name}`, unit: 'pods/s', ours: running, limit },
    // Programs of containerd are not the cluster's.
    ...(load ? [] : [{ what: 'the same, CPU time of a pod', unit: 'ms', ours: cpu }]),
  ]
}

/** The kubelet's garbage of the start is collected by then. */
const SETTLED_MS = 3_000

/** What networks of pods add to a cluster without pods; both are started in turns. */
async function measureIdle(folder: string, rounds: number): Promise<Row[]> {
  const starts: Record<string, number[]> = { host: [], pod: [] }
  const memory: Record<string, number[]> = { host: [], pod: [] }
  for (let round = 0; round <= rounds; round++)
    for (const network of ['host', 'pod']) {
      const stateDir = join(folder, `idle-${network}-${round}`)
      const look = async (): Promise<void> => {
        await realClock.sleep(SETTLED_MS)
        memory[network]!.push(kubeletRss(stateDir))
      }
      starts[network]!.push(await timeToNodeReady(stateDir, ['--network', network], look))
    }
  const added = ({ host, pod }: Record<string, number[]>): number => median(pod!.slice(1)) - median(host!.slice(1))
  const row = { smallerIsBetter: true }
  return [
    { ...row, what: 'start that --network pod adds', unit: 'ms', ours: added(starts), limit: 30 },
    { ...row, what: 'kubelet RSS that it adds, idle', unit: 'MB', ours: added(memory), limit: 15 },
  ]
}

/** Beside `tar -x` of its layer, in turns. */
async function measureLoad(folder: string, rounds: number): Promise<Row> {
  const { archive, layer } = largeImage(folder, 'bench/large:1')
  const megabytes = statSync(layer).size / 1e6
  const [ours, ceiling]: [number[], number[]] = [[], []]
  for (let round = 0; round <= rounds; round++) {
    const place = mkdirIn(folder, `round-${round}`)
    const store = ['--image-store', join(place, 'store')]
    ours.push(megabytes / secondsOf(() => kubestage('image', 'load', archive, ...store)))
    const unpacked = mkdirIn(place, 'unpacked')
    ceiling.push(megabytes / secondsOf(() => execFileSync('tar', ['-x', '-f', layer, '-C', unpacked])))
    rmSync(place, { recursive: true })
  }
  const [mine, tar] = [ours, ceiling].map((all) => median(all.slice(1)))
  return { what: 'image load of 200 MB; tar -x', unit: 'MB/s', ours: mine!, ceiling: tar!, goal: 0.6 }
}

function secondsOf(work: () => unknown): number {
  const startedMs = realClock.monotonic()
  work()
  return (realClock.monotonic() - startedMs) / 1_000
}
