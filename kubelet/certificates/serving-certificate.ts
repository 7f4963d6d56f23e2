import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { createBackoff } from '../../shared/concurrency/backoff.ts'
import { issueCertificate, type KeyPair } from '../../shared/pki/certificate.ts'
import { readIfExists, writePrivately } from '../../shared/pki/files.ts'
import { isUsable } from './bootstrap.ts'
import { requestCertificate } from './request-certificate.ts'

export interface ServingCertificateOptions {
  client: Client
  /** Folder in which the pair is kept. */
  directory: string
  nodeName: string
  nodeIP: string
  clock: Clock
  onError(error: unknown): void
}

const DAY_MS = 86_400_000
/** Of its lifetime, when the next certificate is asked for. Upstream: between 70 and 90 %. */
const RENEW_AT = 0.8
const RETRY = { initialMs: 1_000, maxMs: 60_000 }
/** A timer holds no more. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1

/** The certificate of the kubelet's own API: a kubelet serves, and registers its node, before one is approved. Upstream: pkg/kubelet/certificate/kubelet.go. */
export class ServingCertificate {
  readonly #options: ServingCertificateOptions
  readonly #files: KeyPair

  constructor(options: ServingCertificateOptions) {
    this.#options = options
    const { directory } = options
    this.#files = { cert: join(directory, 'kubelet-serving.crt'), key: join(directory, 'kubelet-serving.key') }
  }

  /** The pair kept, or one that is self-signed until the first is issued. */
  first(): KeyPair {
    return this.#kept() ?? this.#selfSigned()
  }

  /** Resolves when `signal` aborts. */
  async keep(use: (pair: KeyPair) => void, signal: AbortSignal): Promise<void> {
    const { machine } = this.#options.clock
    const backoff = createBackoff(RETRY)
    let pair = this.#kept()
    while (!signal.aborted) {
      try {
        pair ??= await this.#request(signal)
        use(pair)
        backoff.reset()
        await machine.sleep(Math.min(renewIn(pair, machine.now()), LONGEST_SLEEP_MS), { signal })
        if (renewIn(pair, machine.now()) === 0) pair = undefined
      } catch (error) {
        if (signal.aborted) return
        this.#options.onError(error)
        await machine.sleep(backoff.next(), { signal }).catch(() => {})
      }
    }
  }

  #kept(): KeyPair | undefined {
    const { nodeName, nodeIP, clock } = this.#options
    const [cert, key] = [readIfExists(this.#files.cert), readIfExists(this.#files.key)]
    if (!cert || !key || !isUsable({ cert }, nodeName, clock.machine.now())) return undefined
    return new X509Certificate(cert).checkIP(nodeIP) ? { cert, key } : undefined
  }

  async #request(signal: AbortSignal): Promise<KeyPair> {
    const { client, nodeName, nodeIP } = this.#options
    const wanted = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }
    const altNames = [nodeName, nodeIP]
    const signerName = 'kubernetes.io/kubelet-serving'
    const issued = await requestCertificate(client, { signerName, ...wanted, altNames }, signal)
    writePrivately(this.#files.key, issued.key)
    writePrivately(this.#files.cert, issued.cert)
    return issued
  }

  #selfSigned(): KeyPair {
    const { nodeName, nodeIP, clock } = this.#options
    const nowMs = clock.machine.now()
    const [notBefore, notAfter] = [toTime(nowMs - DAY_MS), toTime(nowMs + 365 * DAY_MS)]
    return issueCertificate({
      commonName: nodeName,
      altNames: [nodeName, nodeIP],
      usage: 'server',
      notBefore,
      notAfter,
    })
  }
}

function renewIn({ cert }: KeyPair, nowMs: number): number {
  const { validFromDate, validToDate } = new X509Certificate(cert)
  const [from, to] = [validFromDate.getTime(), validToDate.getTime()]
  return Math.max(0, from + (to - from) * RENEW_AT - nowMs)
}
