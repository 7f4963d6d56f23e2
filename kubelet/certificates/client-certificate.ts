import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { type ClusterAccess, createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'
import { readIfExists, writePrivately } from '../../shared/pki/files.ts'
import { kubeconfig } from '../../shared/pki/kubeconfig-file.ts'
import { keepRenewed, type NodeCertificateOptions } from './renewal.ts'
import { isValidFor, nodeSubject, requestCertificate } from './request-certificate.ts'

export interface ClientCertificateOptions extends NodeCertificateOptions {
  /** The kubeconfig of a user that may only request a certificate. */
  bootstrapKubeconfig: string
  /** Where the kubelet's own is kept, and found by the next start. */
  kubeconfig: string
  /** URLs of API servers instead of the one of the bootstrap kubeconfig; each try asks the next. */
  servers?: readonly string[]
}

const RETRY_MS = 1_000

/**
 * Bootstraps and renews the kubelet's client certificate. It sends its requests with the bootstrap kubeconfig while the
 * kubelet has no valid credentials, and with the kubelet's own credentials while they are valid. Upstream:
 * pkg/kubelet/certificate, and its folder bootstrap.
 */
export class ClientCertificate {
  readonly #options: ClientCertificateOptions
  #pair: Partial<KeyPair> = {}
  #failures = 0

  constructor(options: ClientCertificateOptions) {
    this.#options = options
  }

  /** Goes on trying while the API server cannot be reached. */
  async first(): Promise<ClusterAccess> {
    const { clock, onError } = this.#options
    const kept = await this.#kept()
    this.#pair = kept ?? {}
    if (kept && this.#isValid()) return kept
    for (;;) {
      try {
        return await this.#bootstrap()
      } catch (error) {
        onError(error)
        await clock.machine.sleep(RETRY_MS)
      }
    }
  }

  /** Renews the certificate while `client` uses it; resolves when `signal` aborts. */
  async keep(client: Pick<ServerClient, 'create' | 'watch' | 'useCertificate'>, signal: AbortSignal): Promise<void> {
    const { clock, onError, kubeconfig: file } = this.#options
    await keepRenewed(this.#pair as KeyPair, {
      clock,
      onError,
      signal,
      use: (pair) => {
        if (pair === this.#pair) return
        this.#pair = pair
        client.useCertificate(pair)
      },
      request: async (signal) => {
        if (!this.#isValid()) return this.#bootstrap(signal)
        const pair = await requestCertificate(client, this.#wanted(), signal)
        const { server, ca = '' } = await loadKubeconfig(file)
        this.#write({ server, ca }, pair)
        return pair
      },
    })
  }

  async #bootstrap(signal?: AbortSignal): Promise<ClusterAccess & KeyPair> {
    const { bootstrapKubeconfig, clock, servers = [] } = this.#options
    const newcomer = await loadKubeconfig(bootstrapKubeconfig)
    const server = servers[this.#failures % servers.length] ?? newcomer.server
    const client = createRestClient({ ...newcomer, server, clock, userAgent: 'kubelet/v1.36.3' })
    try {
      const own = await requestCertificate(client, this.#wanted(), signal)
      this.#write(newcomer, own)
      this.#pair = own
      const { token: _, ...access } = newcomer
      return { ...access, ...own }
    } catch (error) {
      this.#failures++
      throw error
    } finally {
      await client.close()
    }
  }

  /** Resolves to the stored certificate; to undefined if none exists, or none that can be read. */
  async #kept(): Promise<ClusterAccess | undefined> {
    const { kubeconfig: file, onError } = this.#options
    try {
      return readIfExists(file) === undefined ? undefined : await loadKubeconfig(file)
    } catch (error) {
      onError(error)
      return undefined
    }
  }

  #isValid(): boolean {
    const { nodeName, clock } = this.#options
    return isValidFor(nodeName, this.#pair, clock.machine.now())
  }

  #wanted() {
    const signerName = 'kubernetes.io/kube-apiserver-client-kubelet' as const
    return { signerName, ...nodeSubject(this.#options.nodeName) }
  }

  #write({ server, ca = '' }: Pick<ClusterAccess, 'server' | 'ca'>, user: KeyPair): void {
    writePrivately(this.#options.kubeconfig, JSON.stringify(kubeconfig({ name: 'kubestage', server, ca, user })))
  }
}
