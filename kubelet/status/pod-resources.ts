import { addQuantities } from '../../shared/api/quantities/quantity.ts'
import type { Container } from '../../shared/api/types.ts'

type Resources = NonNullable<Container['resources']>
type Amounts = Record<string, string>

/** Adds up the resources of a pod's containers. The sum has only resources that at least one container names. */
export function sumOfResources(list: Resources[]): Resources {
  const limits = sumOf(list.map(({ limits }) => limits))
  const requests = sumOf(list.map(({ requests }) => requests))
  return { ...(limits && { limits }), ...(requests && { requests }) }
}

export function sumOf(list: (Amounts | undefined)[]): Amounts | undefined {
  const sum: Amounts = {}
  for (const amounts of list) {
    for (const [name, amount] of Object.entries(amounts ?? {})) {
      const before = sum[name]
      sum[name] = before === undefined ? amount : addQuantities(before, amount)
    }
  }
  return Object.keys(sum).length > 0 ? sum : undefined
}
