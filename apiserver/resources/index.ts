/** Every built-in kind, in the order of discovery. Adding a kind: one file, one line here. */
import type { ResourceDefinition } from '../registry/resource-definition.ts'
import { configmap } from './configmap.ts'
import { customresourcedefinition } from './customresourcedefinition.ts'
import { event } from './event.ts'
import { lease } from './lease.ts'
import { namespace } from './namespace.ts'
import { node } from './node.ts'
import { pod } from './pod.ts'
import { podtemplate } from './podtemplate.ts'
import { secret } from './secret.ts'
import { service } from './service.ts'
import { serviceaccount } from './serviceaccount.ts'

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
  customresourcedefinition,
]
