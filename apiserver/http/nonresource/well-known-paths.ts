import type { Aggregation } from '../../aggregation/aggregation.ts'
import type { ApiServerConfig } from '../../config.ts'
import type { Forward } from '../aggregation/forward.ts'
import type { ApiContext } from '../api-context.ts'
import { discoveryRoutes } from '../discovery/routes.ts'
import { type BesideHandles, instrumentRoutes } from '../instruments/routes.ts'
import type { Watchdog } from '../limits/watchdog.ts'
import { HealthMetrics } from '../metrics/health-metrics.ts'
import { type MetricsSources, metricsRoute } from '../metrics/metrics-route.ts'
import type { RequestMetrics } from '../metrics/request-metrics.ts'
import { openapiRoute } from '../openapi/routes.ts'
import type { PathRoutes } from '../routing/paths.ts'
import { livezChecks, readyzChecks } from './health-checks.ts'
import { healthRoute, pathsOf } from './health-routes.ts'
import { indexRoutes } from './index-route.ts'
import { tokenIssuerRoutes } from './token-issuer-routes.ts'
import { versionRoute } from './version-route.ts'
import { zpages } from './zpages.ts'

/** The root lists these paths, in this order. */
const listed = [
  '/.well-known/openid-configuration',
  '/flagz',
  '/metrics',
  '/metrics/slis',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/',
  '/openid/v1/jwks',
  '/statusz',
  '/version',
  ...pathsOf('healthz', livezChecks),
  ...pathsOf('livez', livezChecks),
  ...pathsOf('readyz', readyzChecks),
]

/** Returns flags by their names in a real server. */
const flagsOf = ({ host, port, serviceCidr, featureGates, corsAllowedOrigins = [] }: ApiServerConfig) => ({
  'bind-address': host,
  'cors-allowed-origins': corsAllowedOrigins,
  'feature-gates': featureGates,
  'secure-port': port,
  'service-cluster-ip-range': serviceCidr,
})

export interface PathParts {
  api: ApiContext
  aggregation: Aggregation
  forward: Forward
  config: ApiServerConfig
  beside: BesideHandles
  requests: RequestMetrics
  /** Parts whose metrics are served beside those of requests. */
  sources: MetricsSources['sources']
  watchdog: Watchdog
  /** Host and port, as clients are to find the server. */
  address(): string
}

/** Returns the routes of all paths that are served and are not resources. */
export function wellKnownPaths({
  api,
  aggregation,
  forward,
  config,
  beside,
  requests,
  sources,
  watchdog,
  address,
}: PathParts): PathRoutes[] {
  const { catalog, registry, clock, tokens } = api
  const etcd = () => registry.storage.trouble?.()
  const health = new HealthMetrics()
  return [
    ...indexRoutes(catalog, listed),
    ...discoveryRoutes(catalog, aggregation, address),
    openapiRoute(catalog, aggregation, forward),
    ...tokenIssuerRoutes(tokens),
    versionRoute(config.kubernetesVersion),
    ...zpages({ flags: flagsOf(config), clock }),
    metricsRoute({ requests, health, sources, registry, clock, featureGates: config.featureGates }),
    instrumentRoutes(api, beside),
    healthRoute(health, 'healthz', { ...livezChecks, etcd }),
    healthRoute(health, 'livez', { ...livezChecks, etcd }, { 'event-loop': () => watchdog.problem() }),
    healthRoute(health, 'readyz', { ...readyzChecks, etcd, 'etcd-readiness': etcd }),
  ]
}
