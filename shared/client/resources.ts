import type { Resource } from './client.ts'

const core = (plural: string): Resource => ({ group: '', version: 'v1', plural })

/** The collections that our own clients speak to. */
export const configMaps = core('configmaps')
export const events = core('events')
export const namespaces = core('namespaces')
export const nodes = core('nodes')
export const persistentVolumes = core('persistentvolumes')
export const persistentVolumeClaims = core('persistentvolumeclaims')
export const pods = core('pods')
export const endpoints = core('endpoints')
export const replicationControllers = core('replicationcontrollers')
export const resourceQuotas = core('resourcequotas')
export const secrets = core('secrets')
export const serviceAccounts = core('serviceaccounts')
export const services = core('services')
export const terminations: Resource = { group: 'kubestage.dev', version: 'v1', plural: 'terminations' }
export const flowSchemas: Resource = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', plural: 'flowschemas' }
export const priorityLevels: Resource = { ...flowSchemas, plural: 'prioritylevelconfigurations' }
export const serviceCidrs: Resource = { group: 'networking.k8s.io', version: 'v1', plural: 'servicecidrs' }
export const ipAddresses: Resource = { group: 'networking.k8s.io', version: 'v1', plural: 'ipaddresses' }
export const networkPolicies: Resource = { group: 'networking.k8s.io', version: 'v1', plural: 'networkpolicies' }
export const storageClasses: Resource = { group: 'storage.k8s.io', version: 'v1', plural: 'storageclasses' }
export const volumeAttributesClasses: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'volumeattributesclasses',
}
export const clusterRoles: Resource = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterroles' }
export const validatingAdmissionPolicies: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingadmissionpolicies',
}
export const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
}
export const leases: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' }
export const podDisruptionBudgets: Resource = { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets' }
export const certificateSigningRequests: Resource = {
  group: 'certificates.k8s.io',
  version: 'v1',
  plural: 'certificatesigningrequests',
}
export const subjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
}
export const selfSubjectReviews: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'selfsubjectreviews',
}
const apps = (plural: string): Resource => ({ group: 'apps', version: 'v1', plural })
export const controllerRevisions = apps('controllerrevisions')
export const daemonSets = apps('daemonsets')
export const deployments = apps('deployments')
export const replicaSets = apps('replicasets')
export const statefulSets = apps('statefulsets')
export const jobs: Resource = { group: 'batch', version: 'v1', plural: 'jobs' }
export const cronJobs: Resource = { group: 'batch', version: 'v1', plural: 'cronjobs' }
export const horizontalPodAutoscalers: Resource = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
}
export const endpointSlices: Resource = { group: 'discovery.k8s.io', version: 'v1', plural: 'endpointslices' }
