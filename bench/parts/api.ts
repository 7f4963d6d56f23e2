import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { measureAggregation, whyNoAggregation } from '../aggregation.ts'
import { withKubestage } from '../cluster.ts'
import { median } from '../load.ts'
import {
  fill,
  measureApplies,
  measureList,
  measureMemory,
  measureRequests,
  measureWatches,
  type Pair,
  prepare,
  sampleOf,
} from '../measure.ts'
import { isChosen, rounds } from '../options.ts'
import { measurePolicies } from '../policies.ts'
import { bareApi, startBareServer } from '../processes.ts'
import type { Row } from '../report.ts'
import { measureStarts } from '../starts/starts.ts'

/** A start is short, and what else the machine does is long. */
export const startRounds = Math.max(rounds, 10)
/** What the start took is given back by then. */
const SETTLED_MS = 1_500

export async function measureStart(): Promise<Row[]> {
  const starts: { readyMs: number; rss: number }[] = []
  for (let i = 0; i < rounds + 1; i++) {
    await withKubestage(bareApi, async (server) => {
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

/** Takes the figures of requests, lists and watches that are chosen, of one server that holds 10,000 pods. */
export async function measureServer(): Promise<Row[]> {
  return withKubestage(bareApi, async (ours, stateDir) => {
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
        ...(isChosen('list') ? await measureList(pair) : []),
        ...(isChosen('requests') ? [...(await measureRequests(pair)), ...(await measureApplies(ours, rounds))] : []),
        ...(isChosen('watch') ? await measureWatches(pair) : []),
      ]
    } finally {
      await bare.stop()
    }
  })
}

export async function measurePolicedCreates(): Promise<Row[]> {
  return withKubestage(bareApi, async (server) => {
    await prepare(server.target)
    return measurePolicies(server, rounds)
  })
}

export async function measureAggregatedRequests(): Promise<Row[]> {
  const why = whyNoAggregation()
  if (why !== undefined) {
    process.stderr.write(`${why}\n`)
    return []
  }
  return withKubestage(bareApi, (server, folder) => measureAggregation(server, { folder, rounds }))
}

const MANY_PODS = 100_000

export async function measureManyPods(): Promise<Row[]> {
  return withKubestage(bareApi, async (server) => {
    await prepare(server.target)
    return measureMemory(server, MANY_PODS)
  })
}
