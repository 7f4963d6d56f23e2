/** Nodes with pods that have rules about each other, and a pod that is to be placed by its own. Made from a number. */
import type { Node, Pod, PodSpec } from '../../shared/api/types.ts'
import { generator } from './preemption-situations.ts'

export interface PlacementSituation {
  nodes: Pick<Node, 'metadata' | 'spec'>[]
  /** On each node equally many, so that free resources decide nothing. */
  pods: Pod[]
  incoming: Pod
}
/** Names the node that was chosen, or says why there is none. */
export type PlacementOutcome = { node: string } | { message: string }

/** Labels of the two namespaces, by their names. */
export const TEAMS: Readonly<Record<string, Record<string, string>>> = {
  'team-a': { team: 'a' },
  'team-b': { team: 'b' },
}
const ZONE = 'topology.kubernetes.io/zone'
const HOST = 'kubernetes.io/hostname'
const RACK = 'rack'
const APPS = ['web', 'db', 'job']
const PER_NODE = 3

class Situation {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = generator(seed)
  }

  nodes(): PlacementSituation['nodes'] {
    return Array.from({ length: 3 + this.#below(4) }, (_, n) => {
      const name = `n${n}`
      const labels = {
        [HOST]: name,
        ...(this.#happens(0.9) && { [ZONE]: `z${this.#below(3)}` }),
        ...(this.#happens(0.5) && { [RACK]: `r${this.#below(2)}` }),
        ...(this.#happens(0.7) && { disk: 'ssd' }),
      }
      const taints = this.#happens(0.15) ? [{ key: 'kept', effect: 'NoSchedule' }] : undefined
      return { metadata: { name, labels }, ...(taints && { spec: { taints } }) }
    })
  }

  pod(name: string, rules: number): Pod {
    const labels = { app: this.#oneOf(APPS), ...(this.#happens(0.3) && { tier: 'front' }) }
    const spec = { containers: [{ name: 'c', image: 'none' }] }
    const affinity = this.#happens(rules) ? this.#affinity() : undefined
    return {
      metadata: { name, namespace: this.#oneOf(Object.keys(TEAMS)), labels },
      spec: { ...spec, ...(affinity && { affinity }) },
    }
  }

  incoming(): Pod {
    const { metadata, spec } = this.pod('incoming', 0.7)
    const more: Partial<PodSpec> = {
      ...(this.#happens(0.2) && { nodeSelector: { disk: 'ssd' } }),
      ...(this.#happens(0.2) && { tolerations: [{ key: 'kept', operator: 'Exists' }] }),
      ...(this.#happens(0.6) && { topologySpreadConstraints: this.#constraints() }),
    }
    return { metadata, spec: { ...spec, ...more } }
  }

  #affinity(): NonNullable<PodSpec['affinity']> {
    const rules = () => ({
      ...(this.#happens(0.4) && { requiredDuringSchedulingIgnoredDuringExecution: [this.#term()] }),
      ...(this.#happens(0.5) && {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1 + this.#below(100), podAffinityTerm: this.#term() },
        ],
      }),
    })
    return {
      ...(this.#happens(0.6) && { podAffinity: rules() }),
      ...(this.#happens(0.7) && { podAntiAffinity: rules() }),
    }
  }

  #term() {
    return {
      topologyKey: this.#oneOf([ZONE, ZONE, HOST, RACK]),
      ...(this.#happens(0.95) && { labelSelector: this.#selector() }),
      ...(this.#happens(0.2) && { namespaces: [this.#oneOf(Object.keys(TEAMS))] }),
      ...(this.#happens(0.3) && {
        namespaceSelector: this.#happens(0.3) ? {} : { matchLabels: { team: this.#oneOf(['a', 'b']) } },
      }),
    }
  }

  #selector() {
    const app = this.#oneOf(APPS)
    if (this.#happens(0.1)) return {}
    if (this.#happens(0.2)) return { matchExpressions: [{ key: 'app', operator: 'NotIn', values: [app] }] }
    if (this.#happens(0.2)) return { matchExpressions: [{ key: 'tier', operator: 'Exists' }] }
    return { matchLabels: { app } }
  }

  #constraints(): NonNullable<PodSpec['topologySpreadConstraints']> {
    const keys = [ZONE, HOST, RACK].filter(() => this.#happens(0.4))
    return (keys.length > 0 ? keys : [ZONE]).map((topologyKey) => {
      const whenUnsatisfiable = this.#oneOf(['DoNotSchedule', 'ScheduleAnyway'])
      const isHard = whenUnsatisfiable === 'DoNotSchedule'
      return {
        topologyKey,
        whenUnsatisfiable,
        maxSkew: 1 + this.#below(2),
        ...(this.#happens(0.95) && { labelSelector: this.#selector() }),
        ...(isHard && this.#happens(0.3) && { minDomains: 1 + this.#below(4) }),
        ...(this.#happens(0.3) && { nodeAffinityPolicy: this.#oneOf(['Honor', 'Ignore']) }),
        ...(this.#happens(0.3) && { nodeTaintsPolicy: this.#oneOf(['Honor', 'Ignore']) }),
      }
    })
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }
  #happens(share: number): boolean {
    return this.#random() < share
  }
  #oneOf<T>(values: readonly T[]): T {
    return values[this.#below(values.length)]!
  }
}

export function placementSituation(seed: number): PlacementSituation {
  const situation = new Situation(seed)
  const nodes = situation.nodes()
  const pods = nodes.flatMap(({ metadata: { name: nodeName = '' } }) =>
    Array.from({ length: PER_NODE }, (_, i) => {
      const { metadata, spec } = situation.pod(`${nodeName}-p${i}`, 0.3)
      return { metadata, spec: { ...spec, nodeName } }
    }),
  )
  return { nodes, pods, incoming: situation.incoming() }
}
