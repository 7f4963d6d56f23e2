/**
 * Metrics as autoscaling/v1 writes them into annotations: `targetAverageValue` and the like, where v2 has a target with
 * members. Quantities that v1 cannot leave out are 0.
 */
import { type Fields, listOf, mapOf, number, text } from './annotations.ts'
import type { Autoscaler, Metric } from './types.ts'

export type CurrentMetric = NonNullable<NonNullable<Autoscaler['status']>['currentMetrics']>[number]
type Role = 'target' | 'current'

export const metricsOfV1 = (metrics: readonly Metric[]): unknown[] => metrics.map((metric) => asOld(metric, 'target'))
export const currentsOfV1 = (currents: readonly CurrentMetric[]): unknown[] =>
  currents.map((current) => asOld(current, 'current'))
/** Throws a TypeError if the values are no metrics. */
export const metricsOfV2 = (old: unknown): Metric[] => asNew(old, 'target') as Metric[]
/** Throws a TypeError if the values are no metrics. */
export const currentsOfV2 = (old: unknown): CurrentMetric[] => asNew(old, 'current') as CurrentMetric[]

function asOld(metric: Metric | CurrentMetric, role: Role): Fields {
  const old: Fields = { type: metric.type }
  const needed = role === 'current' ? '0' : undefined
  for (const name of sources) {
    const source = metric[name] as Fields | undefined
    if (!source) continue
    const { value, averageValue, averageUtilization } = (source[role] ?? {}) as Fields
    const { name: metricName, selector } = (source.metric ?? {}) as Fields
    const share = { [`${role}AverageUtilization`]: averageUtilization, [`${role}AverageValue`]: averageValue ?? needed }
    switch (name) {
      case 'object':
        old[name] = {
          target: source.describedObject,
          metricName,
          [`${role}Value`]: value ?? '0',
          selector,
          averageValue,
        }
        break
      case 'pods':
        old[name] = { metricName, [`${role}AverageValue`]: averageValue ?? '0', selector }
        break
      case 'resource':
        old[name] = { name: source.name, ...share }
        break
      case 'containerResource':
        old[name] = { name: source.name, ...share, container: source.container }
        break
      case 'external': {
        const values = { [`${role}Value`]: value ?? needed, [`${role}AverageValue`]: averageValue }
        old[name] = { metricName, metricSelector: selector, ...values }
      }
    }
  }
  return old
}

const sources = ['object', 'pods', 'resource', 'containerResource', 'external'] as const

function asNew(list: unknown, role: Role): Fields[] {
  return listOf(list).map((old) => {
    const metric: Fields = { type: text(old.type) ?? '' }
    for (const name of sources) {
      if (old[name] === undefined) continue
      const source = mapOf(old[name])
      metric[name] = { ...identityOf(name, source), [role]: valuesOf(name, source, role) }
    }
    return metric
  })
}

function identityOf(name: (typeof sources)[number], source: Fields): Fields {
  if (name === 'resource') return { name: text(source.name) ?? '' }
  if (name === 'containerResource') return { name: text(source.name) ?? '', container: text(source.container) ?? '' }
  const selector = source.selector ?? source.metricSelector
  const metric = { name: text(source.metricName) ?? '', ...(selector !== undefined && { selector }) }
  return name === 'object' ? { describedObject: source.target ?? { kind: '', name: '' }, metric } : { metric }
}

/** A target also says which of its members counts. */
function valuesOf(name: (typeof sources)[number], source: Fields, role: Role): Fields {
  const share = number(source[`${role}AverageUtilization`])
  const average = text(name === 'object' ? source.averageValue : source[`${role}AverageValue`])
  const whole = name === 'object' || name === 'external' ? text(source[`${role}Value`]) : undefined
  const isWhole = name === 'object' ? average === undefined : name === 'external' && whole !== undefined
  // Upstream: a whole value of 0 beside an average is v1's way to leave it out.
  const value = name === 'object' && average !== undefined && whole === '0' ? undefined : whole
  return {
    ...(role === 'target' && { type: isWhole ? 'Value' : share === undefined ? 'AverageValue' : 'Utilization' }),
    ...(value !== undefined && { value }),
    ...(average !== undefined && { averageValue: average }),
    ...(share !== undefined && { averageUtilization: share }),
  }
}
