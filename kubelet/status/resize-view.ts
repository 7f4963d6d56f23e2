import type { Container } from '../../shared/api/types.ts'
import type { Verdict } from './conditions.ts'

export type Resources = NonNullable<Container['resources']>

/** What a pod's status says of a resize: by container, what the node has promised and what the container has. */
export interface ResizeView {
  conditions: Verdict[]
  allocated(container: string): Resources
  actual(container: string): Resources
}
