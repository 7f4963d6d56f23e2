import { ownValue } from '../../../shared/api/json/own-value.ts'
import {
  badRequest,
  methodNotAllowed,
  methodNotSupported,
  notFound,
  resourceNotFound,
} from '../../../shared/api/status/status-errors.ts'
import type { ResourceDefinition, SubresourceEntry } from '../../kind/resource-definition.ts'
import { subresourcesOf } from '../../kind/subresources.ts'
import { type Handler, writing } from '../handler.ts'
import type { ResourceTarget } from '../request-info.ts'
import { commonMethods } from '../routing/methods.ts'
import { bindPod } from '../subresources/binding.ts'
import { attachToPod, execInPod, portForwardToPod } from '../subresources/connect.ts'
import { evictPod } from '../subresources/eviction.ts'
import { podLog } from '../subresources/log.ts'
import { proxyToNode, proxyToPod, proxyToService } from '../subresources/proxy.ts'
import { getScale, patchScale, updateScale } from '../subresources/scale.ts'
import { requestToken } from '../subresources/token.ts'
import { get } from '../verbs/get.ts'
import { patch } from '../verbs/patch.ts'
import { update } from '../verbs/update.ts'

/** Connects to something outside of the server, which cannot be tried. Throws a StatusError (400) for a dry run. */
const connecting =
  (handler: Handler): Handler =>
  (api, context) => {
    if (context.exchange.info.query.has('dryRun')) throw badRequest('dryRun is not supported')
    return handler(api, context)
  }

type Methods = Readonly<Record<string, Handler>>

/** The object itself, through the other door. */
const sameObject: Methods = { GET: get, PUT: writing(update), PATCH: writing(patch) }

const everyMethod = (handler: Handler): Methods =>
  Object.fromEntries(commonMethods.map((method) => [method, connecting(handler)]))
const both = (handler: Handler): Methods => ({ GET: connecting(handler), POST: connecting(handler) })

/** Serves subresources that show neither the object nor its scale, by `<group>/<plural>/<subresource>`. */
const special: Readonly<Record<string, Methods>> = {
  '/serviceaccounts/token': { POST: writing(requestToken) },
  '/pods/binding': { POST: writing(bindPod) },
  '/pods/eviction': { POST: writing(evictPod) },
  '/pods/log': { GET: podLog },
  '/pods/exec': both(execInPod),
  '/pods/attach': both(attachToPod),
  '/pods/portforward': both(portForwardToPod),
  '/nodes/proxy': everyMethod(proxyToNode),
  '/pods/proxy': everyMethod(proxyToPod),
  '/services/proxy': everyMethod(proxyToService),
  // Replaces spec.finalizers; the kind's strategy knows what that means.
  '/namespaces/finalize': { PUT: writing(update) },
}

const scale: Methods = { GET: getScale, PUT: writing(updateScale), PATCH: writing(patchScale) }

export function findSubresource(
  definition: ResourceDefinition,
  { subresource, name = '' }: ResourceTarget,
  method: string,
): Handler {
  const methods = methodsOf(definition, subresource)
  if (!methods) throw definition.custom ? notFound(definition, name) : resourceNotFound()
  const handler = ownValue(methods, method)
  const verb = definition.custom && ownValue({ DELETE: 'delete', POST: 'create' }, method)
  if (!handler) throw verb ? methodNotSupported(definition, verb) : methodNotAllowed()
  return handler
}

export const hasSubresource = (definition: ResourceDefinition, name: string): boolean =>
  methodsOf(definition, name) !== undefined

const known = new WeakMap<ResourceDefinition, ReadonlyMap<string, Methods>>()

function methodsOf(definition: ResourceDefinition, name = ''): Methods | undefined {
  let methods = known.get(definition)
  if (!methods) {
    methods = new Map(subresourcesOf(definition).map((entry) => [entry.name, handlersOf(definition, entry)]))
    known.set(definition, methods)
  }
  return methods.get(name)
}

function handlersOf({ group, plural }: ResourceDefinition, { name, kind, ...of }: SubresourceEntry): Methods {
  const isScale = kind === 'Scale' && of.group === 'autoscaling'
  return special[`${group}/${plural}/${name}`] ?? (isScale ? scale : sameObject)
}
