import type { FastifyInstance } from 'fastify'
import type { StatusError } from '../../../shared/api/status/status-error.ts'
import {
  badRequest,
  methodNotAllowed,
  methodNotSupported,
  resourceNotFound,
} from '../../../shared/api/status/status-errors.ts'
import type { RequestedResource } from '../../auth/types.ts'
import type { ResourceDefinition, Verb } from '../../kind/resource-definition.ts'
import { traitsOf } from '../../kind/subresource-traits.ts'
import type { ApiContext } from '../api-context.ts'
import { patchMediaType } from '../body/patch-body.ts'
import { assertAcceptable, isAcceptable, negotiate, parseAccept, unknownShape } from '../encode/negotiation.ts'
import { sendText } from '../encode/respond.ts'
import type { Exchange, ResourceExchange } from '../exchange.ts'
import { type Handler, writing } from '../handler.ts'
import { booleanParameter, type ResourceTarget } from '../request-info.ts'
import { asHandler } from '../routing/handle.ts'
import { commonMethods } from '../routing/methods.ts'
import { create } from '../verbs/create.ts'
import { deleteVerb } from '../verbs/delete.ts'
import { deletecollection } from '../verbs/deletecollection.ts'
import { get } from '../verbs/get.ts'
import { list } from '../verbs/list.ts'
import { patch } from '../verbs/patch.ts'
import { update } from '../verbs/update.ts'
import { watch } from '../verbs/watch.ts'
import { findVirtual } from '../virtual/virtual-resources.ts'
import { findSubresource, hasSubresource } from './subresource-routes.ts'

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

type Shape = 'collection' | 'object' | 'subresource' | 'watch'

type Verbs = Readonly<Record<string, Verb>>

const verbs: Readonly<Record<Exclude<Shape, 'subresource'>, Verbs>> = {
  collection: { GET: 'list', POST: 'create', DELETE: 'deletecollection' },
  object: { GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' },
  watch: { GET: 'watch' },
}

/**
 * Adds the routes of all resources to the application, below `/api/v1` and `/apis/GROUP/VERSION`. The path is read by
 * {@link parseRequestInfo}, and the kind is looked up for each request, so that custom resources come and go.
 */
export function resourceRoutes(app: FastifyInstance, api: ApiContext): void {
  const handler = asHandler((exchange) => serve(api, exchange))
  for (const url of ['/api/:version/*', '/apis/:group/:version/*'])
    app.route({ method: [...commonMethods], url, handler })
}

function serve(api: ApiContext, exchange: Exchange): void | Promise<void> {
  const { target, method } = exchange.info
  const definition = target && target.subresource !== '' ? definitionOf(api, target) : undefined
  if (!target || !definition) return refuse(api, exchange)
  const shape = shapeOf(target)
  const verb = shape === 'subresource' ? undefined : verbs[shape][method]
  if (!verb && shape !== 'subresource') return refuse(api, exchange)
  const { deprecationWarning } = definition
  // Upstream's handler of custom resources warns before it knows what is asked.
  if (deprecationWarning !== undefined && definition.custom) exchange.warnings.add(deprecationWarning)
  const handler = verb ? handlerOf(definition, verb, exchange) : findSubresource(definition, target, method)
  if (deprecationWarning !== undefined && isRouted(exchange)) exchange.warnings.add(deprecationWarning)
  if (definition.custom) {
    if (method === 'PATCH') patchMediaType(exchange.request.headers['content-type'], definition)
    assertNotProtobuf(exchange, shape)
  }
  if (target.emptyNamespace && target.name !== undefined) throw namespaceRequired(exchange, definition)
  const context: ResourceExchange = { exchange, definition, target }
  const waiting = readable(api, context)
  return waiting ? waiting.then(() => handler(api, context)) : handler(api, context)
}

/** Returns whether upstream's router lets the client come to the handler, which warns. */
const isRouted = ({ request }: Exchange): boolean =>
  !request.headers.accept || parseAccept(request.headers.accept).some(({ type }) => isAcceptable(type))

/** Throws a StatusError (406) for a client that takes custom resources in protobuf alone: they have no such form. */
function assertNotProtobuf({ request }: Exchange, shape: Shape): void {
  const { encoding, transform } = negotiate(request.headers.accept, shape === 'collection')
  if (encoding === 'protobuf' && !transform) throw unknownShape()
}

/** Throws what the router refuses first: the type of the patch, or the form of the answer. */
function namespaceRequired({ request, info }: Exchange, definition: ResourceDefinition): StatusError {
  if (info.method === 'PATCH') patchMediaType(request.headers['content-type'], definition)
  const { accept } = request.headers
  if (accept) assertAcceptable(parseAccept(accept), false)
  return badRequest('Namespace parameter required.')
}

/** A promise only where objects have to be converted first. */
function readable(api: ApiContext, { definition }: ResourceExchange): void | Promise<void> {
  return definition.custom?.webhook ? api.registry.cacheOf(definition).readable() : undefined
}

function shapeOf({ watchPrefix, name, subresource }: ResourceTarget): Shape {
  if (watchPrefix) return 'watch'
  // An empty one is none.
  if (subresource) return 'subresource'
  return name === undefined ? 'collection' : 'object'
}

/** The kind, where the path fits it. */
function definitionOf({ catalog }: ApiContext, target: ResourceTarget): ResourceDefinition | undefined {
  const definition = catalog.find(target.group, target.version, target.resource)
  return definition && isShaped(definition, target) ? definition : undefined
}

/** Returns whether a path with or without namespace fits the resource. */
function isShaped(
  { namespaced, verbs }: ResourceDefinition,
  { namespace, emptyNamespace = false, name, subresource, rest, watchPrefix }: ResourceTarget,
): boolean {
  const isEverywhere = namespace === undefined && !emptyNamespace
  const wrongScope = namespaced
    ? (name !== undefined || onlyCreates(verbs)) && isEverywhere && !watchPrefix
    : !isEverywhere
  // What can only be created has no paths of objects.
  const hasNoObjects = name !== undefined && onlyCreates(verbs)
  const tooLong = watchPrefix ? subresource !== undefined : rest.length > 0 && !traitsOf(subresource).hasPath
  return !(wrongScope || hasNoObjects || tooLong || name?.includes('/') || namespace?.includes('/'))
}

function handlerOf(definition: ResourceDefinition, verb: Verb, { info }: Exchange): Handler {
  const { target, query, method } = info
  const asked = verb === 'list' && booleanParameter(query, 'watch') ? 'watch' : verb
  // The collection of all namespaces can only be read.
  const isEverywhere = definition.namespaced && target?.namespace === undefined && target?.name === undefined
  if ((isEverywhere && method !== 'GET') || !serves(definition, asked === 'watch' ? 'list' : asked))
    throw methodNotAllowed()
  // What can be listed can be asked to be watched, and says that it cannot.
  if (asked === 'watch' && !serves(definition, asked)) return () => refuseWatch(definition)
  return definition.virtual ? findVirtual(definition, asked) : handlers[asked]
}

function refuseWatch(definition: ResourceDefinition): never {
  throw methodNotSupported(definition, 'watch')
}

const onlyCreates = (verbs: readonly Verb[] | undefined): boolean => verbs?.length === 1 && verbs[0] === 'create'

const serves = ({ verbs }: ResourceDefinition, verb: Verb): boolean => verbs?.includes(verb) ?? true

/**
 * Says why a path of a resource is not served: its kind is not known, the path does not fit it, or the method does not.
 */
export function refuse(api: ApiContext, exchange: Exchange) {
  const { target, path, method } = exchange.info
  if (!target) return notFound(exchange)
  const hasOnlyVerb = target.watchPrefix ? target.resource === '' : target.resource === 'proxy' && !target.name
  if (hasOnlyVerb && target.namespace === undefined) {
    const why = 'failed to create RequestInfo: unable to determine kind and namespace from url,'
    const url = (exchange.request.url ?? path).replaceAll('&', '&amp;')
    return sendText(exchange, 500, `Internal Server Error: ${JSON.stringify(url)}: ${why} ${url}\n`)
  }
  const { catalog } = api
  const definition = catalog.find(target.group, target.version, target.resource)
  if (!definition) {
    if (target.group === '' || catalog.hasBuiltInGroup(target.group)) throw resourceNotFound()
    return notFound(exchange)
  }
  if (!isShaped(definition, target)) {
    if (definition.custom) return notFound(exchange)
    throw resourceNotFound()
  }
  if (target.subresource) findSubresource(definition, target, method)
  throw methodNotAllowed()
}

/** Answers 404 as Go's router does. */
export const notFound = (exchange: Exchange): void => sendText(exchange, 404, '404 page not found\n')

/** Returns whether the catalog has the resource and, if it is given, the subresource. */
export function isServed(
  catalog: ApiContext['catalog'],
  { group, resource, subresource }: RequestedResource,
  version: string,
): boolean {
  const definition = catalog.find(group, version, resource)
  return definition !== undefined && (!subresource || hasSubresource(definition, subresource))
}
