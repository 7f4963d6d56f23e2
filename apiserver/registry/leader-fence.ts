import type { Leader } from '../../shared/api/leader.ts'
import type { Fence } from '../storage/fence.ts'
import { objectKey } from './keys.ts'

const leases = { group: 'coordination.k8s.io', plural: 'leases' }

export const fenceOf = ({ namespace, name, identity }: Leader): Fence => ({
  key: objectKey(leases, namespace, name),
  holder: identity,
})
