import type { V1APIService } from '@kubernetes/client-node'
import type { WithMeta } from '../../shared/api/types.ts'
import type { Priorities } from './priorities.ts'

export type APIService = WithMeta<V1APIService>

/** Says who keeps an APIService as it should be, and until when. Upstream: kube-aggregator's autoregister. */
export const AUTOMANAGED = 'kube-aggregator.kubernetes.io/automanaged'
export const onStart = 'onstart'
export const continuously = 'true'

export interface GroupVersion {
  group: string
  version: string
}

export const apiServiceName = ({ group, version }: GroupVersion): string => `${version}.${group}`

/** Returns the spec of an APIService whose group version this server serves itself. */
export const localSpec = ({ group, version }: GroupVersion, priorities: Priorities) => ({
  ...(group && { group }),
  version,
  ...priorities,
})

/** An APIService without a service has this condition. */
export const localCondition = {
  type: 'Available',
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
}
