import type { V1LimitRangeItem } from '@kubernetes/client-node'
import { ownValue } from '../../shared/api/json/own-value.ts'
import { compareQuantities, quantityMilliValue } from '../../shared/api/quantities/quantity.ts'
import { podResources, type ResourceList } from '../../shared/api/quantities/resource-list.ts'
import { forbidden } from '../../shared/api/status/status-errors.ts'
import type { Container, KubeObject, Pod, Wire } from '../../shared/api/types.ts'
import type { LookupAll } from '../kind/lookup.ts'
import type { AdmissionAttributes, AdmissionPlugin } from '../registry/admission-plugin.ts'

type Limit = Omit<Wire<V1LimitRangeItem>, '_default'> & { default?: ResourceList }
interface Amounts {
  requests?: ResourceList
  limits?: ResourceList
}

const annotation = 'kubernetes.io/limit-ranger'
const limitRanges = { group: '', plural: 'limitranges' }

/**
 * Sets requests and limits that a container leaves out from the LimitRanges of the namespace, and refuses pods and
 * claims that violate a LimitRange. Upstream: plugin/pkg/admission/limitranger.
 */
export function limitRanger(lookupAll: LookupAll): AdmissionPlugin {
  const limitsOf = ({ namespace }: AdmissionAttributes): Limit[][] =>
    [...lookupAll(limitRanges, namespace)].map(({ spec }) => (spec as { limits?: Limit[] } | undefined)?.limits ?? [])
  return {
    admit(attributes) {
      if (!isPodCreation(attributes)) return
      for (const limits of limitsOf(attributes)) setDefaults(attributes.object as unknown as Pod, limits)
    },
    validate(attributes) {
      const { definition, object } = attributes
      if (!isPodCreation(attributes) && !isClaim(attributes)) return
      for (const limits of limitsOf(attributes)) {
        const errors =
          definition.plural === 'pods' ? podErrors(object as unknown as Pod, limits) : claimErrors(object!, limits)
        const texts = [...new Set(errors)]
        if (texts.length === 0) continue
        const why = texts.length > 1 ? `[${texts.join(', ')}]` : texts[0]!
        throw forbidden(definition, object?.metadata.name ?? '', why)
      }
    },
  }
}

const isPodCreation = ({ operation, definition, subresource }: AdmissionAttributes): boolean =>
  definition.group === '' &&
  definition.plural === 'pods' &&
  ((operation === 'CREATE' && !subresource) || (operation === 'UPDATE' && subresource === 'resize'))

const isClaim = ({ operation, definition, subresource, old }: AdmissionAttributes): boolean =>
  definition.group === '' &&
  definition.plural === 'persistentvolumeclaims' &&
  operation !== 'DELETE' &&
  !subresource &&
  !old?.metadata.deletionTimestamp

function setDefaults({ metadata, spec }: Pod, limits: Limit[]): void {
  const own = limits.filter(({ type }) => type === 'Container')
  const requests: ResourceList = Object.assign({}, ...own.map(({ defaultRequest }) => defaultRequest))
  const most: ResourceList = Object.assign({}, ...own.map((limit) => limit.default))
  const told = [
    ...(spec.containers ?? []).flatMap((container) => fill(container, 'container', { requests, limits: most })),
    ...(spec.initContainers ?? []).flatMap((container) =>
      fill(container, 'init container', { requests, limits: most }),
    ),
  ]
  if (told.length === 0) return
  metadata.annotations = { ...metadata.annotations, [annotation]: `LimitRanger plugin set: ${told.join('; ')}` }
}

/** Tells what it has set. */
function fill(container: Container, kind: string, defaults: Required<Amounts>): string[] {
  const told: string[] = []
  for (const which of ['requests', 'limits'] as const) {
    const given = container.resources?.[which] ?? {}
    const missing = Object.keys(defaults[which]).filter((name) => ownValue(given, name) === undefined)
    if (missing.length === 0) continue
    const added = Object.fromEntries(missing.map((name) => [name, defaults[which][name]!]))
    container.resources = { ...container.resources, [which]: { ...given, ...added } }
    told.push(`${missing.sort().join(', ')} ${which.slice(0, -1)} for ${kind} ${container.name}`)
  }
  return told
}

function podErrors(pod: Pod, limits: Limit[]): string[] {
  return limits.flatMap((limit) => {
    if (limit.type === 'Pod') {
      return amountErrors(limit, { requests: podResources(pod, 'requests'), limits: podResources(pod, 'limits') })
    }
    if (limit.type !== 'Container') return []
    return [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])].flatMap(({ resources = {} }) =>
      amountErrors(limit, resources),
    )
  })
}

function claimErrors({ spec }: KubeObject, limits: Limit[]): string[] {
  const { requests } = (spec as { resources?: Amounts } | undefined)?.resources ?? {}
  return limits
    .filter(({ type }) => type === 'PersistentVolumeClaim')
    .flatMap(({ maxLimitRequestRatio: _, ...limit }) => amountErrors(limit, { requests, limits: requests }, true))
}

/** `requestsOnly`: of what is limited there is no word. */
function amountErrors(limit: Limit, { requests = {}, limits = {} }: Amounts, requestsOnly = false): string[] {
  const { type, min = {}, max = {}, maxLimitRequestRatio: ratios = {} } = limit
  const errors: string[] = []
  const usage = (extreme: string, name: string, bound: string) => `${extreme} ${name} usage per ${type} is ${bound}`
  for (const [name, bound] of sorted(min)) {
    const [asked, most] = [ownValue(requests, name), ownValue(limits, name)]
    if (asked === undefined) errors.push(`${usage('minimum', name, bound)}.  No request is specified`)
    else if (compareQuantities(asked, bound) < 0)
      errors.push(`${usage('minimum', name, bound)}, but request is ${asked}`)
    else if (most !== undefined && compareQuantities(most, bound) < 0)
      errors.push(`${usage('minimum', name, bound)}, but limit is ${most}`)
  }
  for (const [name, bound] of sorted(max)) {
    const [asked, most] = [ownValue(requests, name), ownValue(limits, name)]
    const word = requestsOnly ? 'request' : 'limit'
    if (most === undefined) errors.push(`${usage('maximum', name, bound)}.  No ${word} is specified`)
    else if (compareQuantities(most, bound) > 0) errors.push(`${usage('maximum', name, bound)}, but ${word} is ${most}`)
    else if (asked !== undefined && compareQuantities(asked, bound) > 0)
      errors.push(`${usage('maximum', name, bound)}, but request is ${asked}`)
  }
  for (const [name, bound] of sorted(ratios))
    errors.push(...ratioErrors(name, { type, bound }, ownValue(requests, name), ownValue(limits, name)))
  return errors
}

function ratioErrors(
  name: string,
  { type, bound }: { type: string; bound: string },
  asked: string | undefined,
  most: string | undefined,
): string[] {
  const rule = `${name} max limit to request ratio per ${type} is ${bound}`
  if (asked === undefined || quantityMilliValue(asked) === 0)
    return [`${rule}, but no request is specified or request is 0`]
  if (most === undefined || quantityMilliValue(most) === 0) return [`${rule}, but no limit is specified or limit is 0`]
  const ratio = quantityMilliValue(most) / quantityMilliValue(asked)
  return ratio * 1000 > quantityMilliValue(bound) ? [`${rule}, but provided ratio is ${ratio.toFixed(6)}`] : []
}

const sorted = (amounts: ResourceList): [string, string][] =>
  Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1))
