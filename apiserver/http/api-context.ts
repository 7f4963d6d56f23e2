import type { Clock } from '../../shared/clock/clock.ts'
import type { Logger } from '../../shared/log/log.ts'
import type { Access } from '../auth/access.ts'
import type { ServiceAccountTokens } from '../auth/service-account/service-account-tokens.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { Registry } from '../registry/registry.ts'
import type { KubeletProxy } from './kubelet-proxy.ts'

/** What every handler needs of the server. */
export interface ApiContext {
  catalog: Catalog
  registry: Registry
  clock: Clock
  log: Logger
  kubelet: KubeletProxy
  access: Access
  tokens: ServiceAccountTokens
}
