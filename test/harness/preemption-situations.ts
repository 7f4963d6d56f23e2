/** Full nodes with pods of several priorities, disruption budgets, and a pod for which some of these must go. Made from a number. */

export interface PodOnNode {
  name: string
  priority: number
  units: number
  /** How long it has run. */
  seconds: number
  app?: string
}
export interface PreemptionSituation {
  preemptor: { priority: number; units: number; policy?: 'Never' }
  nodes: { units: number; pods: PodOnNode[] }[]
  budgets: { app: string; allowed: number; disrupted?: string[] }[]
}
/** `node`: index of the node that is nominated. */
export interface PreemptionOutcome {
  node?: number
  victims: string[]
}

/** What the pods ask for: no kubelet and no other test counts it. */
export const UNIT = 'example.com/unit'
export const PRIORITIES = [-10, 0, 5, 10, 20]
export const PREEMPTORS = [7, 50]

export function preemptionSituation(seed: number): PreemptionSituation {
  const random = generator(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const oneOf = <T>(values: readonly T[]): T => values[below(values.length)]!
  let age = 100
  const nodes = Array.from({ length: 1 + below(4) }, (_, n) => {
    const units = 2 + below(6)
    const pods: PodOnNode[] = []
    for (let left = units - below(2); left > 0; left -= pods.at(-1)!.units) {
      // No two start in the same second: upstream lets chance decide between such pods.
      age += 1 + below(50)
      const app = oneOf([undefined, 'a', 'a', 'b', 'c'])
      const asked = Math.min(left, 1 + below(3))
      pods.push({
        name: `n${n}-p${pods.length}`,
        priority: oneOf(PRIORITIES),
        units: asked,
        seconds: age,
        ...(app && { app }),
      })
    }
    return { units, pods }
  })
  const budgets = ['a', 'b', 'c']
    .filter(() => random() < 0.6)
    .map((app) => {
      const own = nodes.flatMap(({ pods }) => pods).filter((pod) => pod.app === app)
      const disrupted = own.filter(() => random() < 0.1).map(({ name }) => name)
      return { app, allowed: below(3), ...(disrupted.length > 0 && { disrupted }) }
    })
  const policy = random() < 0.05 ? ('Never' as const) : undefined
  return { preemptor: { priority: oneOf(PREEMPTORS), units: 2 + below(5), ...(policy && { policy }) }, nodes, budgets }
}

/** Mulberry32: the same numbers for the same seed, everywhere. */
export function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }
}
