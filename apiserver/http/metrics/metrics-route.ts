import type { Clock } from '../../../shared/clock/clock.ts'
import type { Registry } from '../../registry/registry.ts'
import { kubernetesVersion } from '../kubernetes-version.ts'
import type { PathRoute } from '../path-routes.ts'
import { sendText } from '../respond.ts'
import { contentType, exposition, type Family } from './exposition.ts'
import type { RequestMetrics } from './request-metrics.ts'

export interface MetricsSources {
  requests: RequestMetrics
  /** What else has something to tell. */
  sources: readonly { families(): Family[] }[]
  registry: Registry
  clock: Clock
}

/** /metrics, in upstream's names as far as there is something to tell. */
export function metricsRoute({ requests, sources, registry, clock }: MetricsSources): PathRoute {
  const startSeconds = clock.machine.now() / 1000
  return {
    first: 'metrics',
    methods: ['GET', 'HEAD'],
    handle(exchange, parts) {
      if (parts.length > 1) return false
      const families = [
        ...requests.families(),
        ...sources.flatMap((source) => source.families()),
        objects(registry),
        ...processFamilies(startSeconds),
      ]
      sendText(exchange, 200, exposition(families), { 'content-type': contentType })
      return true
    },
  }
}

const objects = (registry: Registry): Family => ({
  name: 'apiserver_resource_objects',
  type: 'gauge',
  help: 'Stored objects by resource.',
  samples: registry.sizes().map(({ group, plural, size }) => ({ labels: { group, resource: plural }, value: size })),
})

function processFamilies(startSeconds: number): Family[] {
  const { user, system } = process.cpuUsage()
  const gauge = (name: string, help: string, value: number): Family => ({
    name,
    type: 'gauge',
    help,
    samples: [{ value }],
  })
  const { gitVersion, major, minor, platform } = kubernetesVersion
  return [
    {
      name: 'process_cpu_seconds_total',
      type: 'counter',
      help: 'User and system time of the process.',
      samples: [{ value: (user + system) / 1e6 }],
    },
    gauge('process_resident_memory_bytes', 'Memory that the process occupies.', process.memoryUsage.rss()),
    gauge('process_start_time_seconds', 'When the server was started.', startSeconds),
    {
      ...gauge('kubernetes_build_info', 'What the server says it is.', 1),
      samples: [{ labels: { git_version: gitVersion, major, minor, platform }, value: 1 }],
    },
  ]
}
