import { type Family, histogramLines } from '../../../shared/metrics/exposition.ts'
import type { Attributes } from '../../auth/types.ts'

/** Seconds, as upstream's (apiserver/pkg/endpoints/metrics). */
const buckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]

export interface ObservedRequest {
  attributes: Attributes
  version: string
  code: number
  seconds: number
  dryRun: boolean
}

interface Series {
  labels: Labels
  /** Counts the requests that ended with a code, dry runs apart. */
  ends: Map<string, number>
  /** Counts those in each bucket. */
  counts: number[]
  sum: number
  total: number
}
type Labels = Readonly<Record<string, string>>

/** Returns whether the resource exists. Without this check clients could invent an unlimited number of labels. */
export type IsServed = (attributes: Attributes, version: string) => boolean

/** Maps verbs to their names in metrics. Requests with other methods are not counted. */
const verbs: ReadonlyMap<string, string> = new Map([
  ...['get', 'head', 'list', 'options', 'patch', 'post', 'put', 'watch'].map(
    (verb) => [verb, verb.toUpperCase()] as const,
  ),
  ['create', 'POST'],
  ['update', 'PUT'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETECOLLECTION'],
])

/** Counts requests by kind and result, and measures how long they took. */
export class RequestMetrics {
  readonly #isServed: IsServed
  readonly #series = new Map<string, Series>()
  /** Being answered now. */
  readonly inFlight = { mutating: 0, readOnly: 0 }

  constructor(isServed: IsServed) {
    this.#isServed = isServed
  }

  observe({ attributes, version, code, seconds, dryRun }: ObservedRequest): void {
    const { verb, resource } = attributes
    const key = resource
      ? `${verb} ${resource.group} ${version} ${resource.resource} ${resource.subresource ?? ''} ${scopeOf(attributes)}`
      : `${verb} ${firstPart(attributes.path)}`
    let series = this.#series.get(key)
    if (!series) {
      if (!verbs.has(verb) || !this.#isServed(attributes, version)) return
      const labels = labelsOf(attributes, version)
      series = { labels, ends: new Map(), counts: buckets.map(() => 0), sum: 0, total: 0 }
      this.#series.set(key, series)
    }
    const end = dryRun ? `${code} All` : String(code)
    series.ends.set(end, (series.ends.get(end) ?? 0) + 1)
    series.sum += seconds
    series.total++
    const bucket = buckets.findIndex((limit) => seconds <= limit)
    if (bucket >= 0) series.counts[bucket]!++
  }

  families(): Family[] {
    return [
      {
        name: 'apiserver_request_total',
        type: 'counter',
        help: 'Requests by verb, resource, scope and the code they were answered with.',
        samples: [...this.#series.values()].flatMap(({ labels, ends }) =>
          [...ends].map(([end, value]) => {
            const [code = '', dry_run = ''] = end.split(' ')
            return { labels: { ...labels, code, dry_run }, value }
          }),
        ),
      },
      {
        name: 'apiserver_request_duration_seconds',
        type: 'histogram',
        help: 'How long requests took, watches and other long ones left out.',
        samples: [...this.#series.values()].flatMap((series) => histogramLines(series, buckets)),
      },
      {
        name: 'apiserver_current_inflight_requests',
        type: 'gauge',
        help: 'Requests that are being answered, watches and other long ones left out.',
        samples: Object.entries(this.inFlight).map(([request_kind, value]) => ({ labels: { request_kind }, value })),
      },
    ]
  }
}

/** `/healthz/ping` → `healthz`: clients may send anything after it. */
const firstPart = (path: string): string => path.split('/', 2)[1] ?? ''

function scopeOf({ verb, resource }: Attributes): string {
  if (!resource) return ''
  if (resource.name !== undefined || verb === 'create') return 'resource'
  return resource.namespace === undefined ? 'cluster' : 'namespace'
}

function labelsOf(attributes: Attributes, version: string): Labels {
  const { verb, resource } = attributes
  return {
    verb: verbs.get(verb) ?? '',
    group: resource?.group ?? '',
    version,
    resource: resource?.resource ?? '',
    subresource: resource ? (resource.subresource ?? '') : firstPart(attributes.path),
    scope: scopeOf(attributes),
    component: 'apiserver',
  }
}
