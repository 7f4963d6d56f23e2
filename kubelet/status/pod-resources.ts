import { addLists, type ResourceList } from '../../shared/api/quantities/resource-list.ts'
import type { Container } from '../../shared/api/types.ts'

type Resources = NonNullable<Container['resources']>

/** Adds up the resources of a pod's containers. The sum has only resources that at least one container names. */
export function sumOfResources(list: Resources[]): Resources {
  const limits = sumOf(list.map(({ limits }) => limits))
  const requests = sumOf(list.map(({ requests }) => requests))
  return { ...(limits && { limits }), ...(requests && { requests }) }
}

export function sumOf(lists: (ResourceList | undefined)[]): ResourceList | undefined {
  const sum = addLists(...lists)
  return Object.keys(sum).length > 0 ? sum : undefined
}
