import { methodNotAllowed, resourceNotFound } from '../../shared/api/status-errors.ts'
import type { ResourceDefinition } from '../registry/resource-definition.ts'
import type { ResourceTarget } from './request-info.ts'
import type { Handler } from './resource-routes.ts'
import { bindPod } from './subresources/binding.ts'
import { finalizeNamespace } from './subresources/finalize.ts'
import { podLog } from './subresources/log.ts'
import { get } from './verbs/get.ts'
import { patch } from './verbs/patch.ts'
import { update } from './verbs/update.ts'

type Methods = Readonly<Record<string, Handler>>

/** The object itself, through the other door. */
const sameObject: Methods = { GET: get, PUT: update, PATCH: patch }

/** Handlers of their own, by `<group>/<plural>/<subresource>`. */
const special: Readonly<Record<string, Methods>> = {
  '/pods/binding': { POST: bindPod },
  '/pods/log': { GET: podLog },
  '/namespaces/finalize': { PUT: finalizeNamespace },
}

export function findSubresource(
  { group, plural, subresources }: ResourceDefinition,
  { subresource }: ResourceTarget,
  method: string,
): Handler {
  const methods =
    subresource === 'status' && subresources?.status ? sameObject : special[`${group}/${plural}/${subresource}`]
  if (!methods) throw resourceNotFound()
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (!handler) throw methodNotAllowed()
  return handler
}
