import type { Container } from '../../shared/api/types.ts'
import type { Verdict } from './conditions.ts'

export type Resources = NonNullable<Container['resources']>

/**
 * Holds what a pod's status says about a resize: for each container, what the node has allocated and what the container
 * has.
 */
export interface ResizeView {
  conditions: Verdict[]
  allocated(container: string): Resources
  actual(container: string): Resources
}
