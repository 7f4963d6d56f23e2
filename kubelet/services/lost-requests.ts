import type { LostRequests } from '../../shared/api/termination.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { lostKinds, setOfLosses } from './rules.ts'

export interface LossCounterOptions {
  /** Resolves to what was lost, by {@link keyOf kind and address}. */
  counts(): Promise<Map<string, number>>
  clock: Clock
  /** Says whether rules lead to this address. */
  isLed(ip: string): boolean
  warn(error: unknown, what: string): void
}

const LOOK_MS = 500
/** A client that heard nothing asks again 1, 3 and 7 s after the first time, and is refused then. */
const SETTLE_MS = 8_000

/** Counts the connections that rules led to pods, and that were lost there. */
export class LossCounter {
  readonly #options: LossCounterOptions
  readonly #told = new Map<string, number>()
  #reading: Promise<Map<string, number>> | undefined

  constructor(options: LossCounterOptions) {
    this.#options = options
  }

  /** Resolves when no rule leads to the address any more, to what was lost there since the last time. */
  async of(ip: string): Promise<LostRequests[]> {
    const { clock, isLed, warn } = this.#options
    while (isLed(ip)) await clock.machine.sleep(LOOK_MS)
    await clock.machine.sleep(SETTLE_MS)
    try {
      const counts = await this.#read()
      const all = lostKinds.map((kind) => ({ kind, count: this.#since(keyOf(kind, ip), counts) }))
      return all.filter(({ count }) => count > 0)
    } catch (error) {
      warn(error, 'lost requests could not be counted')
      return []
    }
  }

  /** A network that was made again counts from 0. */
  #since(key: string, counts: Map<string, number>): number {
    const count = counts.get(key) ?? 0
    const told = this.#told.get(key) ?? 0
    this.#told.set(key, count)
    return count >= told ? count - told : count
  }

  /** Questions of one moment are answered together. */
  #read(): Promise<Map<string, number>> {
    const { clock, counts } = this.#options
    this.#reading ??= clock.machine.sleep(LOOK_MS).then(() => {
      this.#reading = undefined
      return counts()
    })
    return this.#reading
  }
}

const keyOf = (kind: string, ip: string): string => `${kind} ${ip}`

interface Listed {
  nftables: { set?: { name: string; elem?: { elem?: { val?: string; counter?: { packets: number } } }[] } }[]
}

/** Reads what the relay of a network has lost: a line for each kind and address. */
export const relayedCounts = (lines: string): Map<string, number> =>
  new Map(
    lines.split('\n').map((line) => {
      const [kind = '', ip = '', count] = line.split(' ')
      return [keyOf(kind, ip), Number(count)]
    }),
  )

/** Reads what `nft -j list sets` prints: counts by kind and address. */
export function countsOf(json: string): Map<string, number> {
  const { nftables } = JSON.parse(json) as Listed
  const sets = new Map(nftables.map(({ set }) => [set?.name, set?.elem ?? []]))
  return new Map(
    lostKinds.flatMap((kind) =>
      (sets.get(setOfLosses(kind)) ?? []).map(({ elem }): [string, number] => [
        keyOf(kind, elem?.val ?? ''),
        elem?.counter?.packets ?? 0,
      ]),
    ),
  )
}
