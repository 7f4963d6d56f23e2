/** Prepares a pod between its decoding and its validation. */
import type { Pod } from '../../../../shared/api/types.ts'
import { APP_ARMOR_PREFIX, hasPrefix } from './validate-annotations.ts'

/** The old annotations become the fields that replaced them. */
export function appArmorFromAnnotations({ metadata, spec }: Pod): void {
  if (!hasPrefix(metadata.annotations, APP_ARMOR_PREFIX)) return
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    const profile = metadata.annotations?.[APP_ARMOR_PREFIX + container.name]
    if (!profile || spec.securityContext?.appArmorProfile || container.securityContext?.appArmorProfile) continue
    const appArmorProfile = appArmorProfileOf(profile)
    if (appArmorProfile) container.securityContext = { ...container.securityContext, appArmorProfile }
  }
}

export function appArmorProfileOf(annotation: string): { type: string; localhostProfile?: string } | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  const [, localhostProfile] = /^localhost\/(.+)$/.exec(annotation) ?? []
  return localhostProfile ? { type: 'Localhost', localhostProfile } : undefined
}

/** `podIP` is the first of `podIPs`; where they differ it counts, as a client that knows no lists has written it. */
export function alignAddresses({ status }: Pod): void {
  if (!status) return
  const { podIP, podIPs = [] } = status
  if (podIP && podIPs[0]?.ip !== podIP) status.podIPs = [{ ip: podIP }]
  else if (!podIP && podIPs[0]?.ip) status.podIP = podIPs[0].ip
}

type Selector = { matchExpressions?: { key: string; operator: string; values?: string[] }[] }

/** `matchLabelKeys` name labels of this pod whose values become part of the selector. */
export function mergeLabelKeys({ metadata: { labels = {} }, spec }: Pod): void {
  if (!spec.affinity && !spec.topologySpreadConstraints) return
  const merge = (selector: Selector | undefined, keys: string[] | undefined, operator: 'In' | 'NotIn'): void => {
    for (const key of selector ? (keys ?? []) : []) {
      if (!selector || !Object.hasOwn(labels, key)) continue
      const value = labels[key] as string
      selector.matchExpressions = [...(selector.matchExpressions ?? []), { key, operator, values: [value] }]
    }
  }
  for (const rules of [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity]) {
    const terms = [
      ...(rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(rules?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
    ]
    for (const term of terms) {
      merge(term.labelSelector, term.matchLabelKeys, 'In')
      merge(term.labelSelector, term.mismatchLabelKeys, 'NotIn')
    }
  }
  for (const constraint of spec.topologySpreadConstraints ?? []) {
    merge(constraint.labelSelector, constraint.matchLabelKeys, 'In')
  }
}

/** `/ephemeralcontainers` changes these and nothing else. */
export function takeEphemeralContainers(pod: Pod, old: Pod): void {
  keepMetadata(pod, old)
  pod.spec = { ...old.spec, ephemeralContainers: pod.spec.ephemeralContainers }
}

export function keepMetadata(pod: Pod, old: Pod): void {
  pod.metadata = {
    ...old.metadata,
    resourceVersion: pod.metadata.resourceVersion,
    managedFields: pod.metadata.managedFields,
  }
}
