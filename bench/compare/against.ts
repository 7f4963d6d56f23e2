/**
 * The speed gate: the server of these sources beside that of a commit. Both serve the same requests at the same time,
 * and their CPU time is compared round by round: whatever else the machine does hits both alike.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { type NodeServer, startKubestage } from '../processes.ts'
import { type Round, type Sides, sides, type Verdict, verdictOf } from './verdict.ts'
import { comparable, type Figure, fillBoth, turn, watch } from './versus.ts'

export interface AgainstOptions {
  /** Folders of the two packages. */
  packages: Sides<string>
  flags: Sides<readonly string[]>
  /** Those of `create`, `get`, `patch`, `watch` and `start` that are measured. */
  figures: readonly string[]
  /** How often both servers are started anew: each process compiles its code as it happens to be called. */
  pairs: number
  /** How often each request figure is taken of a pair, and how often both are started for `start`. */
  rounds: number
  starts: number
  limit?: number
}

type Startable = Pick<AgainstOptions, 'packages' | 'flags'>

const [get, create, patch] = comparable(['get', 'create', 'merge patch'])
/** What a delivery takes depends on how many leave together: a server that was 10 % slower was as fast by that. */
const watchInTurn: Figure = { what: 'watch, 100 watchers', unit: 'deliveries/s', round: watch(100, 100, true) }
const requests: Readonly<Record<string, Figure>> = { create: create!, get: get!, patch: patch!, watch: watchInTurn }
export const figureNames = [...Object.keys(requests), 'start']
/** How much is measured by default. */
export const usual = { rounds: 16, starts: 6 }
/** V8's optimizing compiler has seen most of the code then. */
const warmUps = 6
/**
 * What follows a start is over by then: code is kept for the next one, and memory returned. In the midst of the first
 * requests that would make a server slower for good.
 */
const SETTLED_MS = 2_000

/** How many pairs of servers the gate measures, one after the other, and what they leave in doubt. */
const looks: readonly { pairs: number; doubtful: (soFar: Verdict) => boolean }[] = [
  { pairs: 2, doubtful: ({ ratio, word }) => ratio > 1.01 || word !== 'as fast' },
  { pairs: 4, doubtful: ({ ratio }) => ratio > 1.04 },
  { pairs: 6, doubtful: () => false },
]

/**
 * CI's form. It takes a minute, and one to three more for the figures that are in doubt: two pairs of servers err by up
 * to 8 %, six by 1 to 2 %, and in one of a hundred measurements by 7. The limit is below the slow-down of 8 % that must
 * fail.
 */
export async function gate(options: Pick<AgainstOptions, 'packages' | 'flags' | 'figures'>): Promise<Verdict[]> {
  const short = { ...options, rounds: 8, starts: 6, limit: 1.06 }
  const taken: Taken = Object.fromEntries(options.figures.map((name) => [name, []]))
  const soFar = (name: string): Verdict => verdict(name, taken[name], short.limit)
  let figures = options.figures
  for (const { pairs, doubtful } of looks) {
    for (const [name, measured] of Object.entries(await takeRounds({ ...short, pairs, figures })))
      taken[name]?.push(...measured)
    figures = figures.filter((name) => doubtful(soFar(name)))
  }
  return options.figures.map(soFar)
}

/**
 * Measures create, get, patch and watch in µs of the serving thread's CPU time for each request or delivery, and starts
 * in ms of the whole process.
 */
export async function measureAgainst(options: AgainstOptions): Promise<Verdict[]> {
  const taken = await takeRounds(options)
  return options.figures.map((name) => verdict(name, taken[name], options.limit))
}

const verdict = (name: string, pairs: readonly (readonly Round[])[] = [], limit?: number): Verdict =>
  verdictOf({ what: requests[name]?.what ?? name, unit: name === 'start' ? 'ms' : 'µs', pairs, limit })

/** For each figure, the rounds of each pair of servers. */
type Taken = Record<string, Round[][]>

async function takeRounds(options: AgainstOptions): Promise<Taken> {
  const { figures, pairs, starts } = options
  const taken: Taken = Object.fromEntries(figures.map((name) => [name, []]))
  if (figures.length === 0) return taken
  const ofRequests = figures.filter((name) => name !== 'start')
  for (const side of sides) await startOnce(options, side, SETTLED_MS)
  for (let pair = 0; pair < pairs; pair++) {
    const started: Round[] = []
    const count = figures.includes('start') ? starts : 0
    for (let i = 0; i < count; i++) started.push(await atOnce(i, (side) => startOnce(options, side)))
    if (count > 0) taken.start?.push(started)
    if (ofRequests.length === 0) continue
    for (const [name, rounds] of Object.entries(await roundsOfPair(options, ofRequests, pair)))
      taken[name]?.push(rounds)
  }
  return taken
}

function roundsOfPair(
  options: AgainstOptions,
  names: readonly string[],
  pair: number,
): Promise<Record<string, Round[]>> {
  return withBoth(options, async (servers) => {
    const rounds = Object.fromEntries(names.map((name) => [name, [] as Round[]]))
    await realClock.sleep(SETTLED_MS)
    await Promise.all(sides.map((side) => fillBoth(servers[side].target)))
    for (let i = -warmUps; i < options.rounds; i++) {
      for (const name of names) {
        const mark = `${pair}-${i + warmUps}`
        const round = await atOnce(i, async (side) => threadTime(servers[side], requests[name]!, mark))
        if (i >= 0) rounds[name]!.push(round)
      }
    }
    return rounds
  })
}

/** V8's own threads work in bursts: with them, deliveries of two equal servers differed by up to a factor of three. */
async function threadTime({ target, mainThreadCpuMs }: NodeServer, { round }: Figure, mark: string): Promise<number> {
  return (await turn({ target, cpuMs: mainThreadCpuMs }, round, mark)).cpuMicroseconds
}

/** Plays both at the same time. Who begins changes from round to round. */
async function atOnce(i: number, play: (side: keyof Round) => Promise<number>): Promise<Round> {
  const order = i % 2 ? sides : sides.toReversed()
  const played = await Promise.all(order.map(async (side) => [side, await play(side)] as const))
  return Object.fromEntries(played) as Round
}

/** Returns the CPU time of a start, in ms. */
export async function startOnce(options: Startable, side: keyof Round, settledMs = 0): Promise<number> {
  const server = await start(options, side)
  const cpuMs = server.cpuMs()
  await realClock.sleep(settledMs)
  await server.stop()
  return cpuMs
}

async function withBoth<T>(options: AgainstOptions, use: (servers: Sides<NodeServer>) => Promise<T>): Promise<T> {
  const now = await start(options, 'now')
  try {
    const then = await start(options, 'then')
    return await use({ now, then }).finally(() => then.stop())
  } finally {
    await now.stop()
  }
}

async function start({ packages, flags }: Startable, side: keyof Round): Promise<NodeServer> {
  const stateDir = mkdtempSync(join(tmpdir(), 'kubestage-against-'))
  const server = await startKubestage({ stateDir, flags: [...flags[side]], packageFolder: packages[side] })
  const stop = async (): Promise<void> => {
    await server.stop()
    rmSync(stateDir, { recursive: true, force: true })
  }
  return { ...server, stop }
}
