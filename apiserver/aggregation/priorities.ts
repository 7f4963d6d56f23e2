import { apiVersionOf } from '../../shared/api/api-version.ts'

/** Ranks a group among groups, and a version among those of its group: higher numbers come first in discovery. */
export interface Priorities {
  groupPriorityMinimum: number
  versionPriority: number
}

/** Upstream: cmd/kube-apiserver/app/aggregator.go and pkg/controlplane/apiserver/aggregator.go. */
const builtIn: Readonly<Record<string, readonly [group: number, version: number]>> = {
  v1: [18_000, 1],
  'apps/v1': [17_800, 15],
  'events.k8s.io/v1': [17_750, 15],
  'authentication.k8s.io/v1': [17_700, 15],
  'authorization.k8s.io/v1': [17_600, 15],
  'autoscaling/v1': [17_500, 15],
  'autoscaling/v2': [17_500, 30],
  'batch/v1': [17_400, 15],
  'certificates.k8s.io/v1': [17_300, 15],
  'networking.k8s.io/v1': [17_200, 15],
  'policy/v1': [17_100, 15],
  'rbac.authorization.k8s.io/v1': [17_000, 15],
  'storage.k8s.io/v1': [16_800, 15],
  'apiextensions.k8s.io/v1': [16_700, 15],
  'admissionregistration.k8s.io/v1': [16_700, 15],
  'scheduling.k8s.io/v1': [16_600, 15],
  'coordination.k8s.io/v1': [16_500, 15],
  'node.k8s.io/v1': [16_300, 15],
  'discovery.k8s.io/v1': [16_200, 15],
  'resource.k8s.io/v1': [16_200, 21],
  'flowcontrol.apiserver.k8s.io/v1': [16_100, 21],
  'kubestage.dev/v1': [1000, 100],
}

/** Custom resources come after built-in ones. Upstream: pkg/controlplane/controller/crdregistration. */
export const customPriorities: Priorities = { groupPriorityMinimum: 1000, versionPriority: 100 }

/** The group of APIServices has none itself, and comes first. Upstream: APIRegistrationGroupPriority. */
const registration: Priorities = { groupPriorityMinimum: 20_001, versionPriority: 0 }

/** Returns the priorities of a built-in group version; undefined for one that needs no APIService. */
export function builtInPriorities(group: string, version: string): Priorities | undefined {
  const apiVersion = apiVersionOf({ group, version })
  const found = Object.hasOwn(builtIn, apiVersion) ? builtIn[apiVersion] : undefined
  return found && { groupPriorityMinimum: found[0], versionPriority: found[1] }
}

/** Returns the priorities of a group version that this server serves itself. */
export const localPriorities = (group: string, version: string): Priorities =>
  group === 'apiregistration.k8s.io' ? registration : (builtInPriorities(group, version) ?? customPriorities)
