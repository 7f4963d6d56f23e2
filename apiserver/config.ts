import type { Clock } from '../shared/clock/clock.ts'
import type { FeatureGates } from '../shared/config/feature-gates.ts'
import type { Logger } from '../shared/log/log.ts'
import type { Auditor } from './audit/auditor.ts'
import type { KeyPairSource } from './auth/service-account/signing-key.ts'
import type { Limits } from './http/limits/limits.ts'
import type { NamedPlugin } from './http/plugins/plugin.ts'
import type { KubeletCredentials } from './http/proxy/kubelet-proxy.ts'
import type { Storage } from './storage/storage.ts'

/** HTTP/2 is served by Kubestage's own implementation, or by Node's (node:http2), which is slower. */
export const http2Choices = ['own', 'node'] as const
export type Http2Choice = (typeof http2Choices)[number]

/** Everything a server is told; plain data but for the clock and the log. */
export interface ApiServerConfig {
  host: string
  /** 0 takes a free one. */
  port: number
  /**
   * A second port, at which this server alone answers; 0 takes a free one. Where it is given, other servers of the
   * machine may listen at `port` as well: the kernel gives each new connection to one of them.
   */
  ownPort?: number
  tls: TlsConfig
  /** Chooses the implementation of HTTP/2; `own` by default. */
  http2?: Http2Choice
  /** If true, which is the default, Secrets that are bootstrap tokens authenticate. */
  bootstrapTokens?: boolean
  /** The server's client certificate for kubelets, and the CA of their certificates; read when first needed. */
  kubeletClient: KubeletCredentials
  /** Returns the certificate and key, in PEM, that servers of APIServices are shown. */
  frontProxyClient(): { cert: string; key: string }
  serviceAccountKey: KeyPairSource
  /** Sets the issuer of these tokens. By default it is the server's own URL, and of several servers their Service's. */
  serviceAccountIssuer?: string
  /** Sets the range of cluster IPs, such as 10.96.0.0/16. */
  serviceCidr: string
  /** Sets what /version announces, such as `v1.36.3`. By default it is the version that all answers follow. */
  kubernetesVersion?: string
  /** AlwaysAllow: every authenticated user is authorized. */
  alwaysAllow?: boolean
  disabledAdmissionPlugins?: readonly string[]
  featureGates: FeatureGates
  /** Lists the plugins of users. */
  plugins?: readonly NamedPlugin[]
  /** Origins of pages that may ask, as regular expressions. Default: none. */
  corsAllowedOrigins?: readonly string[]
  /** The server's own from now on: closed with it. Default: a new one in memory. */
  storage?: Storage
  /** Records requests; closed with the server. */
  auditor?: Auditor
  clock: Clock
  /**
   * Sets how long readers see the last state of an object whose removal takes two writes, such as a pod without a
   * node. A real server takes this time for the second write. By default watchers alone see it.
   */
  lastStateMs?: number
  log: Logger
  /** Sets how many requests the journal keeps; none by default. */
  journal?: number
  /** Sets limits. An absent limit has its default. */
  limits?: Partial<Limits>
  /** Sets how long records of terminations are kept; one hour by default. */
  terminationTtlMs?: number
  /** Sets how many records are kept, the newest; 2,000 by default. */
  maxTerminations?: number
}

export interface TlsConfig {
  cert: string
  key: string
  clientCa: string
}
