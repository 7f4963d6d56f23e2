import { quantityMilliValue } from '../../shared/api/quantities/quantity.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { durationMs } from '../../shared/config/option-types.ts'
import type { PodMetric, PodMetrics } from './replica-calculator.ts'

/** Reads a path of the API server. Rejects with a StatusError for any other answer than a 200. */
export type ReadPath = (path: string) => Promise<unknown>

interface ResourceMetricsList {
  items: {
    metadata: { name: string }
    timestamp: string
    window: string
    containers: { name: string; usage: Record<string, string> }[]
  }[]
}
interface MetricValueList {
  items: { describedObject: { name: string }; timestamp: string; windowSeconds?: number; value: string }[]
}

const defaultWindowMs = 60_000
const query = (parameters: Record<string, string>): string => {
  const given = Object.entries(parameters).filter(([, value]) => value !== '')
  return given.length > 0 ? `?${new URLSearchParams(given)}` : ''
}
const failed = (api: string) => (error: Error) => {
  throw new Error(`unable to fetch metrics from ${api} metrics API: ${error.message}`)
}

/** Reads the three metrics APIs. Messages are upstream's: pkg/controller/podautoscaler/metrics/client.go. */
export class MetricsReader {
  readonly #read: ReadPath

  constructor(read: ReadPath) {
    this.#read = read
  }

  /** Resolves to the use of a resource by each pod, or by one container of it, in thousandths. */
  async resource(
    namespace: string,
    { resource, selector, container }: { resource: string; selector: string; container: string },
  ): Promise<PodMetrics> {
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods${query({ labelSelector: selector })}`
    const { items } = (await this.#read(path).catch(failed('resource'))) as ResourceMetricsList
    if (items.length === 0) throw new Error('no metrics returned from resource metrics API')
    const found = new Map<string, PodMetric>()
    for (const { metadata, timestamp, window, containers } of items) {
      const counted = containers.filter(({ name }) => container === '' || name === container)
      const usages = counted.map(({ usage }) => usage[resource])
      if (usages.length === 0 || usages.includes(undefined)) continue
      const value = usages.reduce((total, usage) => total + quantityMilliValue(usage!), 0)
      found.set(metadata.name, { value, timestampMs: parseTime(timestamp), windowMs: durationMs(window) })
    }
    return found
  }

  /** Resolves to a custom metric of each pod, in thousandths. */
  async ofPods(namespace: string, metric: string, selectors: { pods: string; metric: string }): Promise<PodMetrics> {
    const asked = query({ labelSelector: selectors.pods, metricLabelSelector: selectors.metric })
    const { items } = await this.#custom(`namespaces/${namespace}/pods/*/${metric}${asked}`)
    return new Map(
      items.map(({ describedObject, timestamp, windowSeconds, value }) => [
        describedObject.name,
        {
          value: quantityMilliValue(value),
          timestampMs: parseTime(timestamp),
          windowMs: windowSeconds === undefined ? defaultWindowMs : windowSeconds * 1_000,
        },
      ]),
    )
  }

  /** Resolves to a custom metric of one object, in thousandths. `resource` is in the form `deployments.apps`. */
  async ofObject(path: string, metric: string, selector: string): Promise<number> {
    const { items } = await this.#custom(`${path}/${metric}${query({ metricLabelSelector: selector })}`)
    return quantityMilliValue(items[0]!.value)
  }

  /** Resolves to the values of an external metric, in thousandths. */
  async external(namespace: string, metric: string, selector: string): Promise<number[]> {
    const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${metric}`
    const { items } = (await this.#read(path + query({ labelSelector: selector })).catch(
      failed('external'),
    )) as MetricValueList
    if (items.length === 0) throw new Error('no metrics returned from external metrics API')
    return items.map(({ value }) => quantityMilliValue(value))
  }

  async #custom(path: string): Promise<MetricValueList> {
    const list = (await this.#read(`/apis/custom.metrics.k8s.io/v1beta2/${path}`).catch(
      failed('custom'),
    )) as MetricValueList
    if (list.items.length === 0) throw new Error('no metrics returned from custom metrics API')
    return list
  }
}
