/** Every built-in kind, in the order of discovery. Adding a kind: one file, one line here. */
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import { admissionregistration } from './admissionregistration/webhooks-and-policies/index.ts'
import { customresourcedefinition } from './apiextensions/customresourcedefinition.ts'
import { apiservice } from './apiregistration/apiservice.ts'
import { controllerrevision } from './apps/controllerrevision.ts'
import { daemonset } from './apps/daemonset.ts'
import { deployment } from './apps/deployment.ts'
import { replicaset } from './apps/replicaset.ts'
import { statefulset } from './apps/statefulset.ts'
import { reviews } from './authorization/reviews.ts'
import { horizontalpodautoscaler } from './autoscaling/horizontalpodautoscaler/index.ts'
import { cronjob } from './batch/cronjob/index.ts'
import { job } from './batch/job/index.ts'
import { certificatesigningrequest } from './certificates/certificatesigningrequest/index.ts'
import { lease } from './coordination/lease.ts'
import { binding } from './core/binding.ts'
import { componentstatus } from './core/componentstatus.ts'
import { configmap } from './core/configmap.ts'
import { endpoints } from './core/endpoints.ts'
import { event, eventOfNewGroup } from './core/event/index.ts'
import { limitrange } from './core/limitrange.ts'
import { namespace } from './core/namespace.ts'
import { node } from './core/node.ts'
import { persistentvolume } from './core/persistentvolume.ts'
import { persistentvolumeclaim } from './core/persistentvolumeclaim.ts'
import { pod } from './core/pod/index.ts'
import { podtemplate } from './core/podtemplate.ts'
import { replicationcontroller } from './core/replicationcontroller.ts'
import { resourcequota } from './core/resourcequota.ts'
import { secret } from './core/secret.ts'
import { service } from './core/service/index.ts'
import { serviceaccount } from './core/serviceaccount.ts'
import { endpointslice } from './discovery/endpointslice.ts'
import { flowcontrol } from './flowcontrol/levels-and-schemas/index.ts'
import { termination } from './kubestage/termination.ts'
import { resourceMetrics } from './metrics/resource-metrics.ts'
import { ingress } from './networking/ingress.ts'
import { networking } from './networking/ingressclass-and-addresses.ts'
import { networkpolicy } from './networking/networkpolicy.ts'
import { runtimeclass } from './node/runtimeclass.ts'
import { poddisruptionbudget } from './policy/poddisruptionbudget.ts'
import { clusterrolebinding, rolebinding } from './rbac/bindings.ts'
import { clusterrole } from './rbac/clusterrole.ts'
import { role } from './rbac/role.ts'
import { dynamicResources } from './resource/dynamic-resources.ts'
import { priorityclass } from './scheduling/priorityclass.ts'
import { storage } from './storage/drivers-and-attachments.ts'
import { storageclass } from './storage/storageclass.ts'

export const resources: ResourceDefinition[] = [
  configmap,
  endpoints,
  event,
  limitrange,
  namespace,
  node,
  persistentvolumeclaim,
  persistentvolume,
  pod,
  podtemplate,
  replicationcontroller,
  resourcequota,
  secret,
  serviceaccount,
  service,
  apiservice,
  eventOfNewGroup,
  controllerrevision,
  daemonset,
  deployment,
  replicaset,
  statefulset,
  ...horizontalpodautoscaler,
  cronjob,
  job,
  certificatesigningrequest,
  ingress,
  networkpolicy,
  ...networking,
  poddisruptionbudget,
  clusterrole,
  clusterrolebinding,
  role,
  rolebinding,
  storageclass,
  ...storage,
  ...admissionregistration,
  customresourcedefinition,
  priorityclass,
  lease,
  runtimeclass,
  endpointslice,
  ...dynamicResources,
  ...flowcontrol,
  ...reviews,
  binding,
  componentstatus,
  termination,
  ...resourceMetrics,
]
