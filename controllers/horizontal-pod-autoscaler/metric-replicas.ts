import { quantityMilliValue } from '../../shared/api/quantities/quantity.ts'
import { formatSelectorObject } from '../../shared/api/selectors/label-selector.ts'
import { type ApiResources, resourceOfKind } from '../controller.ts'
import type { MetricsReader } from './metrics-reader.ts'
import {
  type Proposal,
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  type Situation,
} from './replica-calculator.ts'
import type { MetricSpec, MetricStatus } from './types.ts'

/** Explains why a metric could not be used: the condition's reason and message, and the error that is told. */
export class MetricError extends Error {
  readonly reason: string
  /** The event says this, and the condition contains it. */
  readonly told: string

  constructor(reason: string, cause: string, message: string) {
    super(message)
    this.reason = reason
    this.told = cause
  }
}

export interface MetricProposal {
  replicas: number
  /** Names the metric as the event of a change does. */
  name: string
  status: MetricStatus
}
export interface Target extends Situation {
  namespace: string
  /** Selects the target's pods. */
  selector: string
  statusReplicas: number
}

/** Returns thousandths as a quantity in decimal form. */
export const milli = (value: number): string => (value % 1_000 === 0 ? `${value / 1_000}` : `${value}m`)
/** Memory in the form of metrics-server, as far as it is a whole number of bytes. */
const binary = (value: number): string => {
  if (value % 1_000 !== 0) return milli(value)
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti']
  let amount = value / 1_000
  let unit = 0
  while (amount > 0 && amount % 1024 === 0 && unit < units.length - 1) {
    amount /= 1024
    unit += 1
  }
  return `${amount}${units[unit]}`
}
const resourceAmount = (resource: string, value: number): string =>
  resource === 'memory' ? binary(value) : milli(value)

/** Asks for metrics, and computes what each asks for. Upstream: horizontal.go, computeReplicasForMetric. */
export class MetricReplicas {
  readonly #metrics: MetricsReader
  readonly #resources: ApiResources

  constructor(metrics: MetricsReader, resources: ApiResources) {
    this.#metrics = metrics
    this.#resources = resources
  }

  /** Rejects with a {@link MetricError} if the metric cannot be had, or says nothing of the target. */
  of(metric: MetricSpec, target: Target): Promise<MetricProposal> {
    switch (metric.type) {
      case 'Resource':
        return this.#ofResource(metric.resource!, target)
      case 'ContainerResource':
        return this.#ofResource(metric.containerResource!, target, metric.containerResource!.container)
      case 'Pods':
        return this.#ofPods(metric.pods!, target)
      case 'Object':
        return this.#ofObject(metric.object!, target)
      default:
        return this.#external(metric.external!, target)
    }
  }

  async #ofResource(
    { name: resource, target: wanted }: NonNullable<MetricSpec['resource']>,
    target: Target,
    container = '',
  ): Promise<MetricProposal> {
    const isUtilization = wanted.averageValue === undefined
    const what = `failed to get ${resource} ${isUtilization ? 'utilization' : 'usage'}`
    const failed = container === '' ? 'FailedGetResourceMetric' : 'FailedGetContainerResourceMetric'
    const place = container === '' ? `${resource} resource` : `${container} container`
    const { replicas, usage, utilization } = await this.#attempt(
      { failed, what, outer: `failed to get ${place} metric value` },
      async (): Promise<Proposal> => {
        const { selector } = target
        const metrics = await this.#metrics
          .resource(target.namespace, { resource, selector, container })
          .catch(unable(`unable to get metrics for resource ${resource}`))
        return isUtilization
          ? replicasForUtilization(target, metrics, { resource, container, target: wanted.averageUtilization ?? 0 })
          : replicasForAverage(target, metrics, { resource, target: quantityMilliValue(wanted.averageValue ?? '0') })
      },
    )
    const averageValue = resourceAmount(resource, usage)
    const current = isUtilization ? { averageUtilization: utilization, averageValue } : { averageValue }
    const ofContainer = container === '' ? '' : ' container'
    return {
      replicas,
      name: isUtilization
        ? `${resource}${ofContainer} resource utilization (percentage of request)`
        : `${resource} resource`,
      status:
        container === ''
          ? { type: 'Resource', resource: { name: resource, current } }
          : { type: 'ContainerResource', containerResource: { name: resource, container, current } },
    }
  }

  async #ofPods({ metric, target: wanted }: NonNullable<MetricSpec['pods']>, target: Target): Promise<MetricProposal> {
    const { name } = metric
    const { replicas, usage } = await this.#attempt(
      { failed: 'FailedGetPodsMetric', outer: 'failed to get pods metric value' },
      async () => {
        const selectors = { pods: target.selector, metric: formatSelectorObject(metric.selector) }
        const metrics = await this.#metrics
          .ofPods(target.namespace, name, selectors)
          .catch(unable(`unable to get metric ${name}`))
        return replicasForAverage(target, metrics, {
          resource: '',
          target: quantityMilliValue(wanted.averageValue ?? '0'),
        })
      },
    )
    const current = { averageValue: milli(usage) }
    return { replicas, name: `pods metric ${name}`, status: { type: 'Pods', pods: { metric, current } } }
  }

  async #ofObject(
    { metric, target: wanted, describedObject }: NonNullable<MetricSpec['object']>,
    target: Target,
  ): Promise<MetricProposal> {
    const { kind, name } = describedObject
    const isShare = wanted.type === 'AverageValue' && wanted.averageValue !== undefined
    const what = isShare ? `failed to get ${metric.name} object metric` : undefined
    const { replicas, usage } = await this.#attempt(
      { failed: 'FailedGetObjectMetric', what, outer: 'failed to get object metric value', saysWhat: false },
      async () => {
        const usage = await this.#metrics
          .ofObject(this.#pathOf(describedObject, target.namespace), metric.name, formatSelectorObject(metric.selector))
          .catch((error: Error) => {
            const where = `on ${kind} ${target.namespace}/${name}`
            throw new Error(`unable to get metric ${metric.name}: ${where}/${error.message}`)
          })
        return proposed(target, { usage, quantity: isShare ? wanted.averageValue : wanted.value, isShare })
      },
    )
    const current = isShare ? { averageValue: milli(usage) } : { value: milli(usage) }
    return {
      replicas,
      name: isShare
        ? `external metric ${metric.name}(${goSelector(metric.selector)})`
        : `${kind} metric ${metric.name}`,
      status: { type: 'Object', object: { describedObject, metric, current } },
    }
  }

  async #external(
    { metric, target: wanted }: NonNullable<MetricSpec['external']>,
    target: Target,
  ): Promise<MetricProposal> {
    const isShare = wanted.averageValue !== undefined
    const what = isShare
      ? `failed to get ${metric.name} external metric`
      : `failed to get external metric ${metric.name}`
    const { replicas, usage } = await this.#attempt(
      {
        failed: 'FailedGetExternalMetric',
        what,
        outer: `failed to get ${metric.name} external metric value`,
        saysWhat: false,
      },
      async () => {
        const values = await this.#metrics
          .external(target.namespace, metric.name, formatSelectorObject(metric.selector))
          .catch(
            unable(`unable to get external metric ${target.namespace}/${metric.name}/${goSelector(metric.selector)}`),
          )
        const usage = Math.min(
          values.reduce((sum, value) => sum + value, 0),
          Number.MAX_SAFE_INTEGER,
        )
        return proposed(target, { usage, quantity: isShare ? wanted.averageValue : wanted.value, isShare })
      },
    )
    const current = isShare ? { averageValue: milli(usage) } : { value: milli(usage) }
    return {
      replicas,
      name: `external metric ${metric.name}(${goSelector(metric.selector)})`,
      status: { type: 'External', external: { metric, current } },
    }
  }

  /**
   * Makes a {@link MetricError} of what goes wrong. Of resources upstream's condition says what was tried as well, of
   * others (`saysWhat: false`) only the error does.
   */
  async #attempt<T>(
    { failed, what, outer, saysWhat = true }: { failed: string; what?: string; outer: string; saysWhat?: boolean },
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const { message } = error as Error
      const whole = what === undefined ? message : `${what}: ${message}`
      throw new MetricError(failed, saysWhat ? whole : message, `${outer}: ${whole}`)
    }
  }

  #pathOf({ apiVersion, kind, name }: { apiVersion?: string; kind: string; name: string }, namespace: string): string {
    if (kind === 'Namespace' && (apiVersion === undefined || apiVersion === 'v1'))
      return `namespaces/${namespace}/metrics`
    const found = resourceOfKind(this.#resources, { apiVersion: apiVersion ?? 'v1', kind })
    if (!found) throw new Error(`no matches for kind "${kind}" in group "${apiVersion?.split('/').at(-2) ?? ''}"`)
    const type = found.group === '' ? found.plural : `${found.plural}.${found.group}`
    return found.namespaced ? `namespaces/${namespace}/${type}/${name}` : `${type}/${name}`
  }
}

/** Returns the proposal for a value, or for the share of it that each pod has. */
function proposed(
  target: Target,
  { usage, quantity = '0', isShare }: { usage: number; quantity: string | undefined; isShare: boolean },
): Proposal {
  const asked = { usage, target: quantityMilliValue(quantity) }
  return isShare ? replicasForShare(target.statusReplicas, target.tolerances, asked) : replicasForValue(target, asked)
}

const unable = (what: string) => (error: Error) => {
  throw new Error(`${what}: ${error.message}`)
}

/** Prints a selector as Go prints a pointer to it. */
function goSelector(
  selector: { matchLabels?: Record<string, string>; matchExpressions?: unknown[] } | undefined,
): string {
  if (!selector) return 'nil'
  const labels = Object.entries(selector.matchLabels ?? {}).sort()
  const expressions = (selector.matchExpressions ?? []).map((one) => {
    const { key, operator, values = [] } = one as { key: string; operator: string; values?: string[] }
    return `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],}`
  })
  const all = expressions.map((one) => `${one},`).join('')
  return `&LabelSelector{MatchLabels:map[string]string{${labels.map(([key, value]) => `${key}: ${value},`).join('')}},MatchExpressions:[]LabelSelectorRequirement{${all}},}`
}
