import type { Clock } from '../../../shared/clock/clock.ts'
import type { FeatureGates } from '../../../shared/config/feature-gates.ts'
import { kubernetesVersion } from '../../../shared/config/kubernetes-version.ts'
import { contentType, exposition, type Family } from '../../../shared/metrics/exposition.ts'
import { buildInfo, featureEnabled, processFamilies } from '../../../shared/metrics/standard-families.ts'
import type { Registry } from '../../registry/registry.ts'
import { sendText } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import { notFound } from '../resources/resource-routes.ts'
import { endsWithSlash, type PathHandle, type PathRoutes, reading } from '../routing/paths.ts'
import type { RequestMetrics } from './request-metrics.ts'

export interface MetricsSources {
  requests: RequestMetrics
  /** Lists further sources of metrics. */
  sources: readonly { families(): Family[] }[]
  registry: Registry
  clock: Clock
  featureGates: FeatureGates
}

/** /metrics, in upstream's names as far as there is something to tell. */
export function metricsRoute({ requests, sources, registry, clock, featureGates }: MetricsSources): PathRoutes {
  const startSeconds = clock.machine.now() / 1000
  const send = (exchange: Exchange): void => {
    const families = [
      ...requests.families(),
      ...sources.flatMap((source) => source.families()),
      objects(registry),
      featureEnabled(featureGates),
      buildInfo(kubernetesVersion),
      ...processFamilies(startSeconds),
    ]
    sendText(exchange, 200, exposition(families), { 'content-type': contentType })
  }
  const path: PathHandle = (exchange) => (endsWithSlash(exchange) ? notFound(exchange) : send(exchange))
  return { first: 'metrics', methods: reading, paths: { '': path } }
}

const objects = (registry: Registry): Family => ({
  name: 'apiserver_resource_objects',
  type: 'gauge',
  help: 'Stored objects by resource.',
  samples: registry.objects
    .sizes()
    .map(({ group, plural, size }) => ({ labels: { group, resource: plural }, value: size })),
})
