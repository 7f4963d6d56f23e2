/** Every built-in kind, in the order of discovery. Adding a kind: one file, one line here. */
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import { admissionregistration } from './admissionregistration/index.ts'
import { apiservice } from './apiservice.ts'
import { binding } from './binding.ts'
import { certificatesigningrequest } from './certificatesigningrequest/index.ts'
import { clusterrole } from './clusterrole.ts'
import { clusterrolebinding } from './clusterrolebinding.ts'
import { componentstatus } from './componentstatus.ts'
import { configmap } from './configmap.ts'
import { controllerrevision } from './controllerrevision.ts'
import { cronjob } from './cronjob/index.ts'
import { customresourcedefinition } from './customresourcedefinition.ts'
import { daemonset } from './daemonset.ts'
import { deployment } from './deployment.ts'
import { dynamicResources } from './dynamic-resources.ts'
import { endpoints } from './endpoints.ts'
import { endpointslice } from './endpointslice.ts'
import { event, eventOfNewGroup } from './event/index.ts'
import { flowcontrol } from './flowcontrol/index.ts'
import { horizontalpodautoscaler } from './horizontalpodautoscaler/index.ts'
import { ingress } from './ingress.ts'
import { job } from './job/index.ts'
import { lease } from './lease.ts'
import { limitrange } from './limitrange.ts'
import { namespace } from './namespace.ts'
import { networking } from './networking.ts'
import { networkpolicy } from './networkpolicy.ts'
import { node } from './node.ts'
import { persistentvolume } from './persistentvolume.ts'
import { persistentvolumeclaim } from './persistentvolumeclaim.ts'
import { pod } from './pod/index.ts'
import { poddisruptionbudget } from './poddisruptionbudget.ts'
import { podtemplate } from './podtemplate.ts'
import { priorityclass } from './priorityclass.ts'
import { replicaset } from './replicaset.ts'
import { replicationcontroller } from './replicationcontroller.ts'
import { resourcequota } from './resourcequota.ts'
import { reviews } from './reviews.ts'
import { role } from './role.ts'
import { rolebinding } from './rolebinding.ts'
import { runtimeclass } from './runtimeclass.ts'
import { secret } from './secret.ts'
import { service } from './service/index.ts'
import { serviceaccount } from './serviceaccount.ts'
import { statefulset } from './statefulset.ts'
import { storage } from './storage.ts'
import { storageclass } from './storageclass.ts'
import { termination } from './termination.ts'

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
]
