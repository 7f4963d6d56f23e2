import {
  AUTOMANAGED,
  apiServiceName,
  type GroupVersion,
  localCondition,
  localSpec,
  onStart,
} from '../aggregation/api-service.ts'
import { builtInPriorities } from '../aggregation/priorities.ts'
import type { SystemObject } from './system-object.ts'

/** An APIService for each group version, if it needs one, available from `time` on. */
export function builtInApiServices(served: Iterable<GroupVersion>, time: string): SystemObject[] {
  const wanted = new Map([...served].map((one) => [apiServiceName(one), one]))
  return [...wanted].flatMap(([name, groupVersion]) => {
    const priorities = builtInPriorities(groupVersion.group, groupVersion.version)
    if (!priorities) return []
    return {
      group: 'apiregistration.k8s.io',
      version: 'v1',
      plural: 'apiservices',
      name,
      labels: { [AUTOMANAGED]: onStart },
      body: {
        spec: localSpec(groupVersion, priorities),
        status: { conditions: [{ ...localCondition, lastTransitionTime: time }] },
      },
    }
  })
}
