import { methodNotAllowed, methodNotSupported, resourceNotFound } from '../../shared/api/status-errors.ts'
import type { RequestedResource } from '../auth/types.ts'
import type { ResourceDefinition, Verb } from '../registry/resource-definition.ts'
import type { ApiContext } from './api-context.ts'
import type { Exchange } from './exchange.ts'
import { type Handler, writing } from './handler.ts'
import { booleanParameter, type ResourceTarget } from './request-info.ts'
import { sendText } from './respond.ts'
import { findSubresource, hasSubresource } from './subresource-routes.ts'
import { create } from './verbs/create.ts'
import { deleteVerb } from './verbs/delete.ts'
import { deletecollection } from './verbs/deletecollection.ts'
import { get } from './verbs/get.ts'
import { list } from './verbs/list.ts'
import { patch } from './verbs/patch.ts'
import { update } from './verbs/update.ts'
import { watch } from './verbs/watch.ts'
import { findVirtual } from './virtual/virtual-resources.ts'

const handlers: Record<Verb, Handler> = {
  create: writing(create),
  delete: writing(deleteVerb),
  deletecollection,
  get,
  list,
  patch: writing(patch),
  update: writing(update),
  watch,
}

type Verbs = ReadonlyMap<string, Verb>
const objectVerbs: Verbs = new Map([
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])
const collectionVerbs: Verbs = new Map([
  ['GET', 'list'],
  ['POST', 'create'],
  ['DELETE', 'deletecollection'],
])
const watchVerbs: Verbs = new Map([['GET', 'watch']])

/** Finds the handler of a request on a resource, or refuses as a real server's router does. */
export function serveResource(api: ApiContext, exchange: Exchange, target: ResourceTarget): void | Promise<void> {
  if (target.watchPrefix && target.resource === '') {
    const why = 'failed to create RequestInfo: unable to determine kind and namespace from url,'
    const { path } = exchange.info
    return sendText(exchange, 500, `Internal Server Error: ${JSON.stringify(path)}: ${why} ${path}\n`)
  }
  const definition = api.catalog.find(target.group, target.version, target.resource)
  if (!definition) {
    if (target.group === '' || api.catalog.hasBuiltInGroup(target.group)) throw resourceNotFound()
    return sendText(exchange, 404, '404 page not found\n')
  }
  if (!isShaped(definition, target)) {
    if (definition.custom) return sendText(exchange, 404, '404 page not found\n')
    throw resourceNotFound()
  }
  const handler = target.subresource
    ? findSubresource(definition, target, exchange.info.method)
    : handlerOf(definition, verbOf(definition, exchange, target))
  if (definition.deprecationWarning !== undefined) exchange.warnings.add(definition.deprecationWarning)
  const waiting = definition.custom?.webhook && api.registry.cacheOf(definition).readable()
  const run = () => handler(api, { exchange, definition, target })
  return waiting ? waiting.then(run) : run()
}

const handlerOf = (definition: ResourceDefinition, verb: Verb): Handler => {
  // What can be listed can be asked to be watched, and says that it cannot.
  if (verb === 'watch' && !serves(definition, verb)) return () => refuseWatch(definition)
  return definition.virtual ? findVirtual(definition, verb) : handlers[verb]
}

function refuseWatch(definition: ResourceDefinition): never {
  throw methodNotSupported(definition, 'watch')
}

/** Whether there is such a resource, or subresource of one. */
export function isServed(
  catalog: ApiContext['catalog'],
  { group, resource, subresource }: RequestedResource,
  version: string,
): boolean {
  const definition = catalog.find(group, version, resource)
  return definition !== undefined && (!subresource || hasSubresource(definition, subresource))
}

const serves = ({ verbs }: ResourceDefinition, verb: Verb): boolean => verbs?.includes(verb) ?? true

/** Whether a path with or without namespace fits the resource. */
function isShaped(
  { namespaced }: ResourceDefinition,
  { namespace, name, subresource, rest, watchPrefix }: ResourceTarget,
): boolean {
  const wrongScope = namespaced
    ? name !== undefined && namespace === undefined && !watchPrefix
    : namespace !== undefined
  const tooLong = watchPrefix ? subresource !== undefined : rest.length > 0 && subresource !== 'proxy'
  return !(wrongScope || tooLong || name?.includes('/'))
}

function verbOf(definition: ResourceDefinition, { info }: Exchange, target: ResourceTarget): Verb {
  const { method, query } = info
  let verb = verbsOf(target).get(method)
  if (verb === 'list' && booleanParameter(query, 'watch')) verb = 'watch'
  const served = verb !== undefined && serves(definition, verb === 'watch' ? 'list' : verb)
  // The collection of all namespaces can only be read.
  const everywhere = definition.namespaced && target.namespace === undefined && method !== 'GET'
  if (!served || everywhere) throw methodNotAllowed()
  return verb!
}

const verbsOf = ({ watchPrefix, name }: ResourceTarget): Verbs =>
  watchPrefix ? watchVerbs : name === undefined ? collectionVerbs : objectVerbs
