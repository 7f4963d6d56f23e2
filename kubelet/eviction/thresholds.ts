import { formatQuantity, parseQuantity, quantityValue } from '../../shared/api/quantities/quantity.ts'
import { UsageError } from '../../shared/config/option.ts'
import { EntryError, suggestion } from '../../shared/config/option-types.ts'
import { isSignal, knownSignals, type Observation, type Observations, type Signal, signals } from './signals.ts'

/** An amount, or a share of what there is. */
export type Amount = { text: string } | { fraction: number }

/** There should be at least `amount`; pods are evicted when there was less for `graceMs`. */
export interface Threshold {
  signal: Signal
  amount: Amount
  /** Delays the eviction; 0 for a hard threshold. */
  graceMs: number
  isHard: boolean
  /** The threshold stays met until this much more than the amount is available. */
  reclaim?: Amount
}

/** Amounts by signal, as `100Mi` or `10%`. */
export type AmountMap = Readonly<Record<string, string>>
export interface ThresholdSettings {
  hard: AmountMap
  soft: AmountMap
  /** Says how long a soft threshold must be met, in milliseconds by signal. */
  softGraceMs: Readonly<Record<string, number>>
  minimumReclaim: AmountMap
}

/** Upstream's, with one for pids, for which it has none. */
export const defaultHard: AmountMap = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
  'pid.available': '5%',
}

/** Throws an Error that says what is wrong. */
export function parseThresholds({ hard, soft, softGraceMs, minimumReclaim }: ThresholdSettings): Threshold[] {
  const reclaims = new Map(Object.entries(minimumReclaim).map(([name, text]) => [signalOf(name), parseAmount(text)]))
  const all: Threshold[] = []
  for (const [name, text] of Object.entries(hard)) {
    all.push({ signal: signalOf(name), amount: parseAmount(text), graceMs: 0, isHard: true })
  }
  for (const [name, text] of Object.entries(soft)) {
    const graceMs = softGraceMs[name]
    if (graceMs === undefined)
      throw new UsageError(`evictionSoft needs a grace period for ${name}: evictionSoftGracePeriod`)
    all.push({ signal: signalOf(name), amount: parseAmount(text), graceMs, isHard: false })
  }
  return all.map((threshold) => ({ ...threshold, reclaim: reclaims.get(threshold.signal) }))
}

/** Throws for one that is none. */
export function signalOf(name: string): Signal {
  if (isSignal(name)) return name
  throw new EntryError(name, `has no signal "${name}"; ${suggestion(name, knownSignals().filter(isSignal))}`)
}

/** Throws for what is neither. */
export function parseAmount(text: string): Amount {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)
  if (percent) {
    const fraction = Number(percent[1]) / 100
    if (fraction <= 1) return { fraction }
  } else if (/^\d/.test(text)) {
    parseQuantity(text)
    return { text }
  }
  throw new Error(`must be an amount such as 100Mi or 10%, not ${JSON.stringify(text)}`)
}

export const amountOf = (amount: Amount, capacity: number): number =>
  'fraction' in amount ? Math.trunc(amount.fraction * capacity) : quantityValue(amount.text)

/** Formats an amount as messages show it. */
export const amountText = (amount: Amount, signal: Signal, capacity: number): string =>
  'fraction' in amount ? countText(amountOf(amount, capacity), signal) : formatQuantity(parseQuantity(amount.text))

/** Bytes with binary suffixes, inodes and processes with decimal ones. */
export function countText(count: number, signal: Signal): string {
  const { resource } = signals[signal]
  const isBytes = resource === 'memory' || resource === 'ephemeral-storage'
  return formatQuantity({
    nano: BigInt(Math.trunc(count)) * 1_000_000_000n,
    format: isBytes ? 'BinarySI' : 'DecimalSI',
  })
}

/**
 * Returns the thresholds that are met. With `settled`, a threshold that was met before stays met until enough is
 * reclaimed.
 */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  options: { settled: boolean },
): Threshold[] {
  return thresholds.filter(({ signal, amount, reclaim }) => {
    const observed: Observation | undefined = observations[signal]
    if (!observed) return false
    const { available, capacity } = observed
    const extra = options.settled && reclaim ? amountOf(reclaim, capacity) : 0
    return available < amountOf(amount, capacity) + extra
  })
}

/** Memory first: it is what kills. */
export const byUrgency = (a: Threshold, b: Threshold): number =>
  Number(b.signal === 'memory.available') - Number(a.signal === 'memory.available')
