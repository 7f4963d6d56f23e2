import { fromSelectorObject, type LabelSelector } from '../../shared/api/selectors/label-selector.ts'
import type { PodSpec } from '../../shared/api/types.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'

/** A rule of a pod about other pods and the domain that they are in. */
export interface AffinityTerm {
  topologyKey: string
  /** Selects no pod if it is undefined. */
  selector: LabelSelector | undefined
  namespaces: readonly (string | undefined)[]
  namespaceSelector: LabelSelector | undefined
  weight: number
}

/** Holds a pod's rules about other pods. The API server has merged `matchLabelKeys` into the selectors. */
export interface AffinityTerms {
  required: readonly AffinityTerm[]
  requiredAnti: readonly AffinityTerm[]
  preferred: readonly AffinityTerm[]
  preferredAnti: readonly AffinityTerm[]
}

type Affinity = NonNullable<PodSpec['affinity']>
type Rules = NonNullable<Affinity['podAffinity'] | Affinity['podAntiAffinity']>
type Term = NonNullable<Rules['requiredDuringSchedulingIgnoredDuringExecution']>[number]

/** Upstream: hardPodAffinityWeight. A pod's required terms attract other pods a little. */
const REQUIRED_WEIGHT = 1

export function affinityTerms({ metadata, spec: { affinity } }: TrimmedPod): AffinityTerms | undefined {
  const { podAffinity, podAntiAffinity } = affinity ?? {}
  if (!podAffinity && !podAntiAffinity) return undefined
  const parse = (term: Term, weight: number): AffinityTerm => ({
    topologyKey: term.topologyKey,
    selector: fromSelectorObject(term.labelSelector),
    namespaces: term.namespaces?.length || term.namespaceSelector ? (term.namespaces ?? []) : [metadata.namespace],
    namespaceSelector: fromSelectorObject(term.namespaceSelector),
    weight,
  })
  const required = (rules?: Rules): AffinityTerm[] =>
    (rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => parse(term, REQUIRED_WEIGHT))
  const preferred = (rules?: Rules): AffinityTerm[] =>
    (rules?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm, weight }) =>
      parse(podAffinityTerm, weight),
    )
  return {
    required: required(podAffinity),
    requiredAnti: required(podAntiAffinity),
    preferred: preferred(podAffinity),
    preferredAnti: preferred(podAntiAffinity),
  }
}
