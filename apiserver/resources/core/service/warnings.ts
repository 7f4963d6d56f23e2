import type { Service } from '../../../../shared/api/types.ts'
import { addressWarnings, cidrWarnings } from '../../../validation/ip.ts'

type Spec = NonNullable<Service['spec']>

const oldHints = 'service.kubernetes.io/topology-aware-hints'
const newHints = 'service.kubernetes.io/topology-mode'

/** Returns the warnings for a Service, in upstream's order. Upstream: pkg/api/service/warnings.go. */
export function serviceWarnings({ metadata, spec = {} }: Service): string[] {
  const { clusterIPs = [], externalIPs = [], loadBalancerIP = '', loadBalancerSourceRanges: ranges = [] } = spec
  const isExternalName = spec.type === 'ExternalName'
  const isHeadless = spec.type === 'ClusterIP' && clusterIPs[0] === 'None'
  const when = (is: boolean, text: string): string[] => (is ? [text] : [])
  return [
    ...when(
      metadata.annotations?.[oldHints] !== undefined,
      `annotation ${oldHints} is deprecated, please use ${newHints} instead`,
    ),
    ...(isHeadless
      ? headlessWarnings(spec)
      : clusterIPs.flatMap((ip, index) => addressWarnings(ip, `spec.clusterIPs[${index}]`))),
    ...externalIPs.flatMap((ip, index) => addressWarnings(ip, `spec.externalIPs[${index}]`)),
    ...when(
      externalIPs.length > 0 && !isHeadless && !isExternalName,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ),
    ...addressWarnings(loadBalancerIP, 'spec.loadBalancerIP'),
    ...ranges.flatMap((range, index) => cidrWarnings(range, `spec.loadBalancerSourceRanges[${index}]`)),
    ...when(isExternalName && externalIPs.length > 0, 'spec.externalIPs is ignored when spec.type is "ExternalName"'),
    ...when(
      !isExternalName && !!spec.externalName,
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ),
    ...when(
      spec.trafficDistribution === 'PreferClose',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ),
  ]
}

export const statusWarnings = ({ status }: Service): string[] =>
  (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = '' }, index) =>
    addressWarnings(ip, `status.loadBalancer.ingress[${index}]`),
  )

function headlessWarnings({ loadBalancerIP, externalIPs, sessionAffinity }: Spec): string[] {
  return [
    ...(loadBalancerIP ? ['spec.loadBalancerIP is ignored for headless services'] : []),
    ...(externalIPs?.length ? ['spec.externalIPs is ignored for headless services'] : []),
    ...(sessionAffinity !== 'None' ? ['spec.SessionAffinity is ignored for headless services'] : []),
  ]
}
