import type { Container, PodSpec } from '../types.ts'
import { quantityMilliValue } from './quantity.ts'

/** Resource name → thousandths of its unit (cores, bytes, pieces), so that sums are exact. */
export type Amounts = Map<string, number>

type Requests = Record<string, string> | undefined

export const amountsOf = (list: Requests): Amounts =>
  new Map(Object.entries(list ?? {}).map(([name, quantity]) => [name, quantityMilliValue(quantity)]))

interface Asking {
  spec: Pick<PodSpec, 'overhead'> & {
    containers: Pick<Container, 'resources'>[]
    initContainers?: Pick<Container, 'resources' | 'restartPolicy'>[]
  }
}

/**
 * Returns what a pod occupies: its containers together, or the peak of its initialization if that is more, plus its
 * overhead. A container that does not say how much it needs of a resource counts with the amount in `missing`.
 */
export function podRequests({ spec }: Asking, missing?: Amounts): Amounts {
  const requestsOf = ({ resources }: Pick<Container, 'resources'>): Amounts =>
    missing ? new Map([...missing, ...amountsOf(resources?.requests)]) : amountsOf(resources?.requests)
  const total: Amounts = new Map()
  for (const container of spec.containers) add(total, requestsOf(container))
  const sidecars: Amounts = new Map()
  const initPeak: Amounts = new Map()
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === 'Always') {
      add(total, requestsOf(container))
      add(sidecars, requestsOf(container))
      raise(initPeak, sidecars)
    } else {
      raise(initPeak, add(requestsOf(container), sidecars))
    }
  }
  raise(total, initPeak)
  return add(total, amountsOf(spec.overhead))
}

export function add(to: Amounts, amounts: Amounts, sign: 1 | -1 = 1): Amounts {
  for (const [name, amount] of amounts) to.set(name, (to.get(name) ?? 0) + sign * amount)
  return to
}

function raise(to: Amounts, amounts: Amounts): void {
  for (const [name, amount] of amounts) to.set(name, Math.max(to.get(name) ?? 0, amount))
}
