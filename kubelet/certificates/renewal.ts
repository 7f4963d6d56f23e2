import { X509Certificate } from 'node:crypto'
import type { Clock } from '../../shared/clock/clock.ts'
import { createBackoff } from '../../shared/concurrency/backoff.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'

/** Says which node a certificate belongs to, and which clock and error handler its renewal uses. */
export interface NodeCertificateOptions {
  nodeName: string
  /** Certificates are dated by the machine's. */
  clock: Clock
  onError(error: unknown): void
}

export interface RenewalOptions extends Omit<NodeCertificateOptions, 'nodeName'> {
  /** Returns a number from 0 to 1. */
  random?(): number
  /** Asks for the next pair. Rejects when that fails; it is called again, after a delay. */
  request(signal: AbortSignal): Promise<KeyPair>
  /** Gets each pair, the first one included. */
  use(pair: KeyPair): void
  signal: AbortSignal
}

const RETRY = { initialMs: 1_000, maxMs: 60_000, jitter: 0.5 }
/** The machine may have slept, or its time was set. */
const LOOK_MS = 3_600_000
const PAUSE_MS = 10_000
const PATIENCE_MS = 900_000

/**
 * Keeps a certificate valid: it asks for the next one after 70 to 90 % of its life, by chance. Resolves when the signal
 * aborts. Upstream: client-go/util/certificate/certificate_manager.go.
 */
export async function keepRenewed(first: KeyPair | undefined, options: RenewalOptions): Promise<void> {
  const { signal, random = Math.random } = options
  const { machine } = options.clock
  const backoff = createBackoff(RETRY)
  let pair = first
  while (!signal.aborted) {
    try {
      pair ??= await withPatience(options)
      options.use(pair)
      backoff.reset()
      // A signer may date certificates back by most of their life.
      const earliestMs = pair === first ? 0 : machine.now() + PAUSE_MS
      const renewAtMs = Math.max(renewalTime(pair, random()), earliestMs)
      while (machine.now() < renewAtMs) await machine.sleep(Math.min(renewAtMs - machine.now(), LOOK_MS), { signal })
      pair = undefined
    } catch (error) {
      if (signal.aborted) return
      options.onError(error)
      await machine.sleep(backoff.next(), { signal }).catch(() => {})
    }
  }
}

/** A request that is not approved in time is made again. */
async function withPatience({ request, clock, signal }: RenewalOptions): Promise<KeyPair> {
  const patience = new AbortController()
  const lose = (): void => patience.abort(new Error('the certificate request was not approved within 15 min'))
  const timer = clock.machine.setTimer(PATIENCE_MS, lose, { background: true })
  try {
    return await request(AbortSignal.any([signal, patience.signal]))
  } finally {
    timer.cancel()
  }
}

function renewalTime({ cert }: KeyPair, chance: number): number {
  const { validFromDate, validToDate } = new X509Certificate(cert)
  const [from, to] = [validFromDate.getTime(), validToDate.getTime()]
  return from + (to - from) * (0.7 + 0.2 * chance)
}
