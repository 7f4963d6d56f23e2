import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { Client } from '../../shared/client/client.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { issueCertificate, type KeyPair } from '../../shared/pki/certificate.ts'
import { readIfExists, writePrivately } from '../../shared/pki/files.ts'
import { keepRenewed, type NodeCertificateOptions } from './renewal.ts'
import { isValidFor, nodeSubject, requestCertificate } from './request-certificate.ts'

export interface ServingCertificateOptions extends NodeCertificateOptions {
  client: Client
  /** Folder in which the pair is kept. */
  directory: string
  nodeIP: string
}

const DAY_MS = 86_400_000

/**
 * The certificate of the kubelet's own API: a kubelet serves, and registers its node, before one is approved. Upstream:
 * pkg/kubelet/certificate/kubelet.go.
 */
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
  keep(use: (pair: KeyPair) => void, signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.#options
    return keepRenewed(this.#kept(), { clock, onError, use, signal, request: (signal) => this.#request(signal) })
  }

  #kept(): KeyPair | undefined {
    const { nodeName, nodeIP, clock } = this.#options
    const [cert, key] = [readIfExists(this.#files.cert), readIfExists(this.#files.key)]
    if (!cert || !key || !isValidFor(nodeName, { cert }, clock.machine.now())) return undefined
    return new X509Certificate(cert).checkIP(nodeIP) ? { cert, key } : undefined
  }

  async #request(signal: AbortSignal): Promise<KeyPair> {
    const { client, nodeName, nodeIP } = this.#options
    const altNames = [nodeName, nodeIP]
    const signerName = 'kubernetes.io/kubelet-serving'
    const issued = await requestCertificate(client, { signerName, ...nodeSubject(nodeName), altNames }, signal)
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
