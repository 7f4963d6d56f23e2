import type { Family } from '../../../shared/metrics/exposition.ts'

interface Results {
  labels: { name: string; type: string }
  isWell: boolean
  success: number
  error: number
}

/** Counts the results of health checks for /metrics/slis. Upstream: component-base/metrics/prometheus/slis. */
export class HealthMetrics {
  readonly #results = new Map<string, Results>()

  /** `type` is the endpoint: healthz, livez or readyz. */
  observe(type: string, name: string, isWell: boolean): void {
    const key = `${type}/${name}`
    const known = this.#results.get(key) ?? { labels: { name, type }, isWell, success: 0, error: 0 }
    this.#results.set(key, known)
    known.isWell = isWell
    known[isWell ? 'success' : 'error']++
  }

  families(): Family[] {
    const sorted = [...this.#results.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, results]) => results)
    return [
      {
        name: 'kubernetes_healthcheck',
        type: 'gauge',
        help: '[STABLE] This metric records the result of a single healthcheck.',
        samples: sorted.map(({ labels, isWell }) => ({ labels, value: Number(isWell) })),
      },
      {
        name: 'kubernetes_healthchecks_total',
        type: 'counter',
        help: '[STABLE] This metric records the results of all healthcheck.',
        samples: sorted.flatMap(({ labels, ...counts }) =>
          (['error', 'success'] as const)
            .filter((status) => counts[status] > 0)
            .map((status) => ({ labels: { ...labels, status }, value: counts[status] })),
        ),
      },
    ]
  }
}
