import type { Clock } from '../shared/clock/clock.ts'
import type { FeatureGates } from '../shared/config/feature-gates.ts'
import type { Logger } from '../shared/log/log.ts'
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
  tls: TlsConfig
  /** Default: own. */
  http2?: Http2Choice
  /** Whether Secrets that are bootstrap tokens authenticate. Default: true. */
  bootstrapTokens?: boolean
  /** The server's client certificate for kubelets, and the CA of their certificates; read when first needed. */
  kubeletClient: KubeletCredentials
  /** Signs the tokens of service accounts. */
  serviceAccountKey: KeyPairSource
  /** Range of cluster IPs, e.g. 10.96.0.0/16. */
  serviceCidr: string
  /** What /version announces, `v1.36.3`. Default: that one, which is what all answers are like. */
  kubernetesVersion?: string
  /** AlwaysAllow: every authenticated user is authorized. */
  alwaysAllow?: boolean
  /** Names of admission plugins to leave out. */
  disabledAdmissionPlugins?: readonly string[]
  featureGates: FeatureGates
  /** What its users add to it. */
  plugins?: readonly NamedPlugin[]
  /** Origins of pages that may ask, as regular expressions. Default: none. */
  corsAllowedOrigins?: readonly string[]
  /** The server's own from now on: closed with it. Default: a new one in memory. */
  storage?: Storage
  clock: Clock
  log: Logger
  /** How many requests the journal keeps. Default: none. */
  journal?: number
  /** What is left out has its default. */
  limits?: Partial<Limits>
  /** How long the records of terminations are kept. Default: one hour. */
  terminationTtlMs?: number
  /** The newest so many. Default: 2,000. */
  maxTerminations?: number
}

export interface TlsConfig {
  cert: string
  key: string
  /** The CA of client certificates. */
  clientCa: string
}
