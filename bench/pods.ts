import type { Termination } from '../shared/api/termination.ts'
import type { Pod } from '../shared/api/types.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { parseTime } from '../shared/clock/timestamp.ts'
import { Http2Connection, type Request, type Target } from './http2-connection.ts'
import { load } from './load.ts'
import { create, currentVersion, NAMESPACE, PODS } from './measure.ts'
import type { Server } from './processes.ts'

const CONNECTIONS = 32
const TIMEOUT_MS = 120_000
/** What bringing them up took is given back by then, and their events are posted. */
const SETTLED_MS = 8_000
const TERMINATIONS = `/apis/kubestage.dev/v1/namespaces/${NAMESPACE}/terminations`

/** Pods of one name and number, as a watch shows them. */
interface Followed {
  /** Resolve to the time, by the machine's clock, at which the last of them did. */
  allRun: Promise<number>
  allGone: Promise<number>
  close(): void
}

async function follow(target: Target, count: number): Promise<Followed> {
  const watcher = await Http2Connection.open(target)
  const [running, gone] = [new Set<string>(), new Set<string>()]
  const [allRun, allGone] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
  const timeout = realClock.setTimer(TIMEOUT_MS, () => {
    const error = new Error(`of ${count} pods ${running.size} ran, ${gone.size} are gone`)
    allRun.reject(error)
    allGone.reject(error)
  })
  const onEvent = (line: string): void => {
    const { type, object } = JSON.parse(line) as { type: string; object: Pod }
    const name = object.metadata.name ?? ''
    if (object.status?.phase === 'Running' && running.add(name).size === count) allRun.resolve(realClock.now())
    if (type === 'DELETED' && gone.add(name).size === count) allGone.resolve(realClock.now())
  }
  let rest = ''
  await watcher.stream(`${PODS}?watch=1&resourceVersion=${await currentVersion(target)}`, (payload) => {
    const lines = (rest + payload).split('\n')
    rest = lines.pop() ?? ''
    lines.forEach(onEvent)
  })
  return {
    allRun: allRun.promise,
    allGone: allGone.promise,
    close() {
      timeout.cancel()
      watcher.close()
    },
  }
}

export interface PodFigures {
  runningPerSecond: number
  /** CPU time of a pod, of all processes of the cluster, the pod's own included, until all run. */
  cpuMsOfPod: number
  gonePerSecond: number
}

/**
 * Creates pods and follows them until all run; then deletes them, each by a request, and follows them until all are
 * gone.
 */
export async function measurePods(
  { target, cpuMs }: Server,
  count: number,
  { image }: { image?: string } = {},
): Promise<PodFigures> {
  const pods = await follow(target, count)
  const all = (request: (i: number) => Request) => load(target, { count, connections: CONNECTIONS, request })
  const rate = (fromMs: number, toMs: number) => (count / (toMs - fromMs)) * 1000
  const cpuBeforeMs = cpuMs()
  const createdAtMs = realClock.now()
  await all((i) => create(`running-${i}`, image))
  const runningPerSecond = rate(createdAtMs, await pods.allRun)
  const cpuMsOfPod = (cpuMs() - cpuBeforeMs) / count
  const deletedAtMs = realClock.now()
  await all((i) => ({ method: 'DELETE', path: `${PODS}/running-${i}` }))
  const gonePerSecond = rate(deletedAtMs, await pods.allGone)
  pods.close()
  return { runningPerSecond, cpuMsOfPod, gonePerSecond }
}

export interface MassDeletion {
  /** Between the first TERM and the last. */
  termSpreadMs: number
  /** From the end of the last container until the last object was seen to be gone. */
  tailMs: number
  /** Of the kubelet's memory, while they ran. */
  whileRunning: number
}

/** Many pods deleted by one request. When each was sent its TERM, and ended, their termination records tell. */
export async function measureMassDeletion(
  { target }: Server,
  { count, memory }: { count: number; memory: () => number },
): Promise<MassDeletion> {
  const pods = await follow(target, count)
  await load(target, { count, connections: CONNECTIONS, request: (i) => create(`many-${i}`) })
  await pods.allRun
  await realClock.sleep(SETTLED_MS)
  const whileRunning = memory()
  const connection = await Http2Connection.open(target)
  await connection.request({ method: 'DELETE', path: PODS })
  const goneAtMs = await pods.allGone
  pods.close()
  const records = await untilRecorded(connection, count)
  connection.close()
  const steps = records.flatMap(({ containers = [] }) => containers.flatMap((container) => container.steps))
  const sent = steps.filter(({ name }) => name === 'SIGTERM').map(({ startTime }) => parseTime(startTime))
  const ended = records.map(({ endTime = '' }) => parseTime(endTime))
  return {
    termSpreadMs: Math.max(...sent) - Math.min(...sent),
    tailMs: goneAtMs - Math.max(...ended),
    whileRunning,
  }
}

/** They are written when there is time. */
async function untilRecorded(connection: Http2Connection, count: number): Promise<Termination[]> {
  for (const deadlineMs = realClock.monotonic() + TIMEOUT_MS; ; await realClock.sleep(200)) {
    let text = ''
    const collect = (payload: Buffer): void => {
      text += payload
    }
    await connection.request({ method: 'GET', path: TERMINATIONS }, collect)
    const { items } = JSON.parse(text) as { items: Termination[] }
    const records = items.filter(({ podName = '', containers }) => podName.startsWith('many-') && containers?.length)
    if (records.length >= count) return records
    if (realClock.monotonic() > deadlineMs) throw new Error(`${records.length} of ${count} terminations are on record`)
  }
}
