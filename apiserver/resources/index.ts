/** Every built-in kind, in the order of discovery. Adding a kind: one file, one line here. */
import type { ResourceDefinition } from '../registry/resource-definition.ts'
import { clusterrole } from './clusterrole.ts'
import { clusterrolebinding } from './clusterrolebinding.ts'
import { configmap } from './configmap.ts'
import { customresourcedefinition } from './customresourcedefinition.ts'
import { event } from './event.ts'
import { lease } from './lease.ts'
import { namespace } from './namespace.ts'
import { node } from './node.ts'
import { pod } from './pod.ts'
import { poddisruptionbudget } from './poddisruptionbudget.ts'
import { podtemplate } from './podtemplate.ts'
import { role } from './role.ts'
import { rolebinding } from './rolebinding.ts'
import { secret } from './secret.ts'
import { service } from './service.ts'
import { serviceaccount } from './serviceaccount.ts'
import { termination } from './termination.ts'

export const resources: ResourceDefinition[] = [
  configmap,
  event,
  namespace,
  node,
  pod,
  podtemplate,
  secret,
  serviceaccount,
  service,
  lease,
  clusterrole,
  clusterrolebinding,
  poddisruptionbudget,
  role,
  rolebinding,
  customresourcedefinition,
  termination,
]
