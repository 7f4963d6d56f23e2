/**
 * The speed gate: the server of these sources beside that of a commit. Both serve the same requests at the same time,
 * and their CPU time is compared round by round: whatever else the machine does hits both alike.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { type Server, startKubestage } from '../processes.ts'
import { type Round, type Sides, sides, type Verdict, verdictOf } from './verdict.ts'
import { comparable, fillBoth, turn } from './versus.ts'

export interface AgainstOptions {
  /** Folders of the two packages. */
  packages: Sides<string>
  flags: string[]
  /** Those of `create`, `get`, `patch`, `watch` and `start` that are measured. */
  figures: readonly string[]
  /** How often both servers are started anew: each process compiles its code as it happens to be called. */
  pairs: number
}

/** What bench/compare/versus.ts calls the figures of requests. */
const requests = { create: 'create', get: 'get', patch: 'merge patch', watch: 'watch, 100 watchers' }
export const figureNames = [...Object.keys(requests), 'start']
/** V8's optimizing compiler has seen most of the code then. */
const warmUps = 6
const roundsOfPair = 16
const startsOfPair = 6
/** Node's compile cache is written by then. */
const SETTLED_MS = 2_000

/** Measures create, get, patch and watch in µs of CPU time for each request or delivery, and starts in ms. */
export async function measureAgainst(options: AgainstOptions): Promise<Verdict[]> {
  const names = Object.entries(requests).filter(([name]) => options.figures.includes(name))
  const figures = comparable(names.map(([, what]) => what)).map((figure) => ({ figure, rounds: [] as Round[] }))
  const starts: Round[] = []
  const startsAPair = options.figures.includes('start') ? startsOfPair : 0
  for (const side of sides) await startOnce(options, side, SETTLED_MS)
  for (let pair = 0; pair < options.pairs; pair++) {
    for (let i = 0; i < startsAPair; i++) starts.push(await atOnce(i, (side) => startOnce(options, side)))
    if (figures.length === 0) continue
    await withBoth(options, async (servers) => {
      await Promise.all(sides.map((side) => fillBoth(servers[side].target)))
      for (let i = -warmUps; i < roundsOfPair; i++) {
        for (const { figure, rounds } of figures) {
          const mark = `${pair}-${i + warmUps}`
          const round = await atOnce(i, async (side) => (await turn(servers[side], figure.round, mark)).cpuMicroseconds)
          if (i >= 0) rounds.push(round)
        }
      }
    })
  }
  return [
    ...figures.map(({ figure: { what }, rounds }) => verdictOf(what, 'µs', rounds)),
    ...(startsAPair > 0 ? [verdictOf('start', 'ms', starts)] : []),
  ]
}

/** Plays both at the same time. Who begins changes from round to round. */
async function atOnce(i: number, play: (side: keyof Round) => Promise<number>): Promise<Round> {
  const order = i % 2 ? sides : sides.toReversed()
  const played = await Promise.all(order.map(async (side) => [side, await play(side)] as const))
  return Object.fromEntries(played) as Round
}

async function startOnce(options: AgainstOptions, side: keyof Round, settledMs = 0): Promise<number> {
  const server = await start(options, side)
  const cpuMs = server.cpuMs()
  await realClock.sleep(settledMs)
  await server.stop()
  return cpuMs
}

async function withBoth(options: AgainstOptions, use: (servers: Sides<Server>) => Promise<void>): Promise<void> {
  const now = await start(options, 'now')
  try {
    const then = await start(options, 'then')
    await use({ now, then }).finally(() => then.stop())
  } finally {
    await now.stop()
  }
}

async function start({ packages, flags }: AgainstOptions, side: keyof Round): Promise<Server> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-against-'))
  const server = await startKubestage({ stateDir, flags, packageFolder: packages[side] })
  const stop = async (): Promise<void> => {
    await server.stop()
    rmSync(stateDir, { recursive: true, force: true })
  }
  return { ...server, stop }
}
