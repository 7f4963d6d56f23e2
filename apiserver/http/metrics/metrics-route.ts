import type { Clock } from '../../../shared/clock/clock.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import { kubernetesVersion } from '../../../shared/config/kubernetes-version.ts'
import { contentType, exposition, type Family } from '../../../shared/metrics/exposition.ts'
import { buildInfo, featureEnabled, processFamilies, processStart } from '../../../shared/metrics/standard-families.ts'
import type { Registry } from '../../registry/registry.ts'
import { sendText } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import { notFound } from '../resources/resource-routes.ts'
import { endsWithSlash, type PathHandle, type PathRoutes } from '../routing/paths.ts'
import type { HealthMetrics } from './health-metrics.ts'
import type { RequestMetrics } from './request-metrics.ts'

export interface MetricsSources {
  requests: RequestMetrics
  health: HealthMetrics
  sources: readonly { families(): Family[] }[]
  registry: Registry
  clock: Clock
  featureGates: FeatureGates
}

/** /metrics and /metrics/slis, in upstream's names as far as there is something to tell. */
export function metricsRoute({ requests, health, sources, registry, clock, featureGates }: MetricsSources): PathRoutes {
  const startSeconds = clock.machine.now() / 1000
  const all = (): Family[] => [
    ...requests.families(),
    ...sources.flatMap((source) => source.families()),
    objects(registry),
    featureEnabled(featureGates),
    buildInfo(kubernetesVersion),
    ...processFamilies(startSeconds),
  ]
  const slis = (): Family[] => [...health.families(), processStart(startSeconds)]
  return { first: 'metrics', paths: { '': showing(all), '/slis': showing(slis) } }
}

function showing(families: () => Family[]): PathHandle {
  return (exchange: Exchange) =>
    endsWithSlash(exchange)
      ? notFound(exchange)
      : sendText(exchange, 200, exposition(families()), { 'content-type': contentType })
}

const objects = (registry: Registry): Family => ({
  name: 'apiserver_resource_objects',
  type: 'gauge',
  help: 'Stored objects by resource.',
  samples: registry.objects
    .sizes()
    .map(({ group, plural, size }) => ({ labels: { group, resource: plural }, value: size })),
})
