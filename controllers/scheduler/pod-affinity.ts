import { type Labels, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import type { TrimmedPod } from '../informers/trimmed-pod.ts'
import type { AffinityTerm, AffinityTerms } from './affinity-terms.ts'
import { addTo, type Counts, DomainCounts, domainOf, domainsOf } from './domain-counts.ts'
import type { PodInfo, PresentNode } from './node-info.ts'
import type { Rejection } from './rejection.ts'

/** Returns the labels of a namespace; undefined if it is not known. */
export type NamespaceLabels = (namespace: string | undefined) => Labels

const none: AffinityTerms = { required: [], requiredAnti: [], preferred: [], preferredAnti: [] }

/**
 * Says where a pod may run for its rules about other pods, and for theirs about it. Upstream: plugins/interpodaffinity.
 */
export class PodAffinity {
  readonly #pod: TrimmedPod
  readonly #terms: AffinityTerms
  readonly #nodes: readonly PresentNode[]
  readonly #labelsOf: NamespaceLabels
  /** Counts existing pods that no node of the domain may be shared with, by their own rules. */
  readonly #refusing: DomainCounts
  /** Counts existing pods that the pod's required terms select, all of them. */
  readonly #wanted: DomainCounts
  /** Counts existing pods that the pod's required anti-affinity selects. */
  readonly #unwanted: DomainCounts

  /** Returns undefined if neither the pod nor any other has rules. */
  static of(pod: PodInfo, nodes: readonly PresentNode[], labelsOf: NamespaceLabels): PodAffinity | undefined {
    if (!pod.affinity && nodes.every(({ affine }) => affine.size === 0)) return undefined
    return new PodAffinity(pod, nodes, labelsOf)
  }

  private constructor({ pod, affinity = none }: PodInfo, nodes: readonly PresentNode[], labelsOf: NamespaceLabels) {
    this.#pod = pod
    this.#terms = affinity
    this.#nodes = nodes
    this.#labelsOf = labelsOf
    const { required, requiredAnti } = affinity
    this.#refusing = new DomainCounts(nodes, (info) =>
      this.#count(info, info.affine.values(), (other) =>
        (other.affinity?.requiredAnti ?? []).filter((term) => this.#selects(term, pod)),
      ),
    )
    this.#wanted = new DomainCounts(nodes, (info) =>
      this.#count(info, required.length > 0 ? info.pods.values() : [], (other) =>
        required.every((term) => this.#selects(term, other.pod)) ? required : [],
      ),
    )
    this.#unwanted = new DomainCounts(nodes, (info) =>
      this.#count(info, requiredAnti.length > 0 ? info.pods.values() : [], (other) =>
        requiredAnti.filter((term) => this.#selects(term, other.pod)),
      ),
    )
  }

  rejection(info: PresentNode): Rejection | undefined {
    if (!this.#hasWanted(info)) return { reasons: ["node(s) didn't match pod affinity rules"], resolvable: false }
    const unwanted = this.#unwanted.with(info)
    if (this.#terms.requiredAnti.some(({ topologyKey }) => countAt(unwanted, info, topologyKey) > 0))
      return { reasons: ["node(s) didn't match pod anti-affinity rules"], resolvable: true }
    const refusing = this.#refusing.with(info)
    if (refusing.size > 0 && domainsOf(info).some((domain) => (refusing.get(domain) ?? 0) > 0))
      return { reasons: ["node(s) didn't satisfy existing pods anti-affinity rules"], resolvable: true }
    return undefined
  }

  /** Returns scores from 0 to 100 for nodes that passed the filters; undefined if no rule prefers any. */
  scores(candidates: readonly PresentNode[]): number[] | undefined {
    const weights: Counts = new Map()
    const { preferred, preferredAnti } = this.#terms
    const own = preferred.length + preferredAnti.length > 0
    for (const info of this.#nodes) {
      const weigh = (terms: readonly AffinityTerm[], pod: TrimmedPod, sign: number): void => {
        for (const term of terms)
          if (this.#selects(term, pod)) addTo(weights, domainOf(info, term.topologyKey), sign * term.weight)
      }
      for (const { pod, affinity = none } of (own ? info.pods : info.affine).values()) {
        weigh(preferred, pod, 1)
        weigh(preferredAnti, pod, -1)
        weigh(affinity.required, this.#pod, 1)
        weigh(affinity.preferred, this.#pod, 1)
        weigh(affinity.preferredAnti, this.#pod, -1)
      }
    }
    if (weights.size === 0) return undefined
    const raw = candidates.map((info) => domainsOf(info).reduce((sum, domain) => sum + (weights.get(domain) ?? 0), 0))
    const lowest = Math.min(...raw)
    const span = Math.max(...raw) - lowest
    return raw.map((value) => (span === 0 ? 0 : Math.trunc((100 * (value - lowest)) / span)))
  }

  /** The first of pods that want to be together has none to be with. */
  #hasWanted(info: PresentNode): boolean {
    const { required } = this.#terms
    if (required.some(({ topologyKey }) => domainOf(info, topologyKey) === undefined)) return false
    const wanted = this.#wanted.with(info)
    if (required.every(({ topologyKey }) => countAt(wanted, info, topologyKey) > 0)) return true
    const isAnywhere = [...wanted.values()].some((count) => count > 0)
    return !isAnywhere && required.every((term) => this.#selects(term, this.#pod))
  }

  #count(info: PresentNode, pods: Iterable<PodInfo>, termsFor: (pod: PodInfo) => readonly AffinityTerm[]): Counts {
    const counts: Counts = new Map()
    for (const pod of pods) for (const { topologyKey } of termsFor(pod)) addTo(counts, domainOf(info, topologyKey), 1)
    return counts
  }

  #selects({ selector, namespaces, namespaceSelector }: AffinityTerm, { metadata }: TrimmedPod): boolean {
    if (!selector || !matchesLabels(selector, metadata.labels)) return false
    if (namespaces.includes(metadata.namespace)) return true
    return namespaceSelector !== undefined && matchesLabels(namespaceSelector, this.#labelsOf(metadata.namespace))
  }
}

const countAt = (counts: Counts, info: PresentNode, topologyKey: string): number =>
  counts.get(domainOf(info, topologyKey) ?? '') ?? 0
