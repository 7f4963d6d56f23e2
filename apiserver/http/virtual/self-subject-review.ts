import type { KubeObject } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import type { User } from '../../kind/user.ts'
import { review } from './review.ts'

export interface UserInfo {
  username?: string
  uid?: string
  groups?: readonly string[]
  extra?: User['extra']
}

export const userInfo = ({ name, uid, groups, extra }: User): UserInfo => ({
  username: name,
  ...(uid && { uid }),
  ...(groups.length > 0 && { groups }),
  ...(extra && Object.keys(extra).length > 0 && { extra }),
})

/**
 * Tells the user its own name, UID, groups and extra. Nothing of the request is stored. Upstream:
 * pkg/registry/authentication/selfsubjectreview.
 */
export const selfSubjectReview = review<KubeObject>({ userInfo: {} }, (object, { api, scope }) => {
  const { managedFields } = object.metadata
  object.metadata = { creationTimestamp: toTime(api.clock.now()), managedFields }
  object.status = { userInfo: userInfo(scope.user) }
})
