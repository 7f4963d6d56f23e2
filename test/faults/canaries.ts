import { execFileSync, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import type { Node, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { nodes, pods } from '../../shared/client/resources.ts'
import { Bystander } from '../budgets/bystander.ts'
import type { Started } from '../budgets/server.ts'
import { p99 } from '../budgets/verdict.ts'
import { kubeletPid, type TestCluster } from '../harness/cluster.ts'
import { podOf } from '../harness/pods.ts'
import { until } from '../harness/until.ts'
import { ensureNamespace } from './namespace.ts'

const neighbours = 20
const namespace = 'neighbours'
/** Of CPU time: a request to the other API server. */
const mostWaitMs = 1_000

interface Told {
  url: string
  ownUrl?: string
  pid: number
  otherServers?: { url: string; pid?: number }[]
}

/** The API servers of a cluster on this machine, the first one first. */
export function serversOf({ stateDir }: Pick<TestCluster, 'stateDir'>): { url: string; pid: number }[] {
  const {
    url,
    ownUrl = url,
    pid,
    otherServers = [],
  } = JSON.parse(readFileSync(path.join(stateDir, 'running.json'), 'utf8')) as Told
  return [{ url: ownUrl, pid }, ...otherServers.map((other) => ({ url: other.url, pid: other.pid ?? 0 }))]
}

/** How an administrator reaches an API server. */
export function reached({ url }: { url: string }, { access }: Pick<TestCluster, 'access'>): Started {
  const { ca = '', cert, key } = access
  return { port: Number(new URL(url).port), tls: { ca, cert, key } }
}

/**
 * What lives beside attackers: pods of another namespace, their node with its kubelet and shim, the API servers, of
 * which the second is asked all the time, a process of the machine and its shared memory. Resolves to a function that
 * says how they are; the answer is the same for ever if nothing harms them.
 */
export async function startCanaries(t: Test, cluster: TestCluster, { metadata }: Node): Promise<() => Promise<object>> {
  const { client, stateDir } = cluster
  const running = await startNeighbours(client)
  const { bystander, hasSegment } = startOnMachine(t)
  const [, second] = serversOf(cluster)
  const asking = second && new Bystander(t, { started: reached(second, cluster), pid: second.pid }, '/api/v1/nodes')
  return async () => {
    const node = await client.get<Node>(nodes, { name: metadata.name ?? '' })
    const { failures = [], waits = [] } = (await asking?.served(1)) ?? {}
    return {
      ready: node.status?.conditions?.find(({ type }) => type === 'Ready')?.status,
      neighbours: await running(),
      kubelet: kubeletPid(cluster),
      shim: readFileSync(path.join(stateDir, 'kubelet', 'runtime', 'shim.pid'), 'utf8'),
      servers: serversOf(cluster),
      others: { failures, isQuick: p99(waits) <= mostWaitMs },
      bystander: bystander.exitCode ?? bystander.signalCode,
      hasSegment: hasSegment(),
    }
  }
}

/** Resolves, when they run, to a function that says which containers run, since when. */
async function startNeighbours(client: Client): Promise<() => Promise<string[]>> {
  await ensureNamespace(client, namespace)
  const names = Array.from({ length: neighbours }, (_, index) => `neighbour-${index}`)
  const create = (name: string) => client.create(pods, podOf({ name, command: ['sleep', '100000'] }), { namespace })
  await Promise.all(names.map(create))
  const running = async (): Promise<string[]> => {
    const { items } = await client.list<Pod>(pods, { namespace })
    const containers = items
      .flatMap(({ status }) => status?.containerStatuses ?? [])
      .filter(({ state }) => state?.running)
    return containers.map(({ containerID, state }) => `${containerID} ${state?.running?.startedAt}`).sort()
  }
  await until(async () => (await running()).length === neighbours, {
    what: 'the neighbours to run',
    timeoutMs: 120_000,
  })
  return running
}

/** A process, and a segment of shared memory. */
function startOnMachine(t: Test) {
  const segment = execFileSync('perl', ['-e', `print shmget(${process.pid}, 100, 0600 | 01000)`], { encoding: 'utf8' })
  t.teardown(() => execFileSync('perl', ['-e', `shmctl(${segment}, 0, 0)`]))
  const bystander = spawn('sleep', ['100000'], { stdio: 'ignore' })
  t.teardown(() => bystander.kill('SIGKILL'))
  const hasSegment = () =>
    readFileSync('/proc/sysvipc/shm', 'utf8')
      .split('\n')
      .some((line) => line.trim().split(/\s+/)[1] === segment)
  return { bystander, hasSegment }
}
