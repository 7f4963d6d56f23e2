/**
 * Starts clusters in a fresh process, by the library of the package in the given folder, and tells how long the first
 * ones took.
 */
import { get } from 'node:https'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'

/** All in milliseconds. */
export interface FirstClusters {
  first: number
  second: number
  /** Putting a thousand objects back that were deleted. */
  restore: number
}

const objects = 1_000
const { startCluster, resources }: typeof import('../../library/index.ts') = await import(
  join(process.argv[2] ?? '', 'dist/library/index.js')
)
type Cluster = Awaited<ReturnType<typeof startCluster>>

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = realClock.monotonic()
  await work()
  return realClock.monotonic() - startedMs
}

const answer = ({ url, access }: Cluster): Promise<void> =>
  new Promise((resolve, reject) => {
    get(`${url}/readyz`, { ...access, agent: false }, (response) => response.resume().on('end', resolve)).on(
      'error',
      reject,
    )
  })

async function startAndAsk(): Promise<{ cluster: Cluster; ms: number }> {
  const startedMs = realClock.monotonic()
  const cluster = await startCluster({ apiOnly: true })
  await answer(cluster)
  return { cluster, ms: realClock.monotonic() - startedMs }
}

const first = await startAndAsk()
const second = await startAndAsk()
const { client, snapshot, restore } = first.cluster
for (let i = 0; i < objects; i++)
  await client.create(resources.configMaps, { metadata: { name: `c-${i}`, namespace: 'default' }, data: { i: `${i}` } })
const all = await snapshot()
for (let i = 0; i < objects; i++) await client.delete(resources.configMaps, { namespace: 'default', name: `c-${i}` })
const restored = await timed(() => restore(all))
process.send?.({ first: first.ms, second: second.ms, restore: restored } satisfies FirstClusters)
await Promise.all([first, second].map(({ cluster }) => cluster.close()))
