import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { toJson } from '../../../shared/api/json/exact-json.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import { badRequest, internalError, notFound, plainError } from '../../../shared/api/status/status-errors.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { applyFields, trackFields } from '../../kind/field-manager.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { applyConflict } from '../../patch/apply-conflict.ts'
import { fieldsOf, type ManagedFieldsEntry } from '../../patch/managed-fields.ts'
import { intersection, isEmpty } from '../../patch/structured-merge/fields.ts'
import { printType } from '../../patch/structured-merge/go-print.ts'
import { decodeStored } from '../../registry/stored-object.ts'
import type { ObjectScope } from '../../registry/write-context.ts'
import { otherNamespace } from '../../registry/writes/before-create.ts'
import type { ApiContext } from '../api-context.ts'
import { patchMediaType, readPatch } from '../body/patch-body.ts'
import { readObject } from '../body/request-object.ts'
import { parseYaml } from '../body/yaml-body.ts'
import { negotiate } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import { sendJson } from '../encode/respond.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { Handler, WriteAnswer, WriteHandler } from '../handler.ts'
import { seeRevision } from '../options/resource-version.ts'
import { type ParsedWriteOptions, parseWriteOptions } from '../options/write-options.ts'
import { checkType, decodeMerged, readConfig } from '../verbs/apply.ts'
import { patched } from '../verbs/patch.ts'
import { checkName } from '../verbs/update.ts'
import { specReplicas } from './scale-owners.ts'
import { customScaleKind, type Scale, ScaleView, scaleKind } from './scale-view.ts'

export const getScale: Handler = async (api, { exchange, definition: resource, target }) => {
  const negotiated = negotiate(exchange.request.headers.accept, false)
  const view = new ScaleView(resource)
  await seeRevision(api, api.registry.cacheOf(resource), exchange.info)
  const stored = api.registry.get({ ...target, definition: resource, name: target.name ?? '', user: exchange.user })
  const object = decodeStored(stored)
  const scale = view.showChecked(object)
  if (view.access.specReplicas(object) === undefined)
    throw internalError(`the spec replicas field ${JSON.stringify(view.access.specReplicasPath)} does not exist`)
  sendJson(exchange, answerOf({ api, exchange, resource }, scale, negotiated), negotiated)
}

export const updateScale: WriteHandler = async (api, context) => {
  const { exchange } = context
  const options = parseWriteOptions(exchange, 'UpdateOptions')
  const bytes = await exchange.smallBody()
  return write(api, { ...context, readsBodyFirst: true }, options, async () => {
    const body = { bytes, contentType: exchange.request.headers['content-type'] }
    const scale = await readScale(context.definition, body, options)
    exchange.audit?.requested({ kind: scaleKind.kind, apiVersion: apiVersionOf(scaleKind) }, { ...empty, ...scale })
    return scale
  })
}

/** Stands in the audit log for what a scale does not say. */
const empty = { spec: {}, status: { replicas: 0 } }

/** A real server does not know the type of the scale of a custom resource when it words what is wrong with it. */
async function readScale(
  { custom }: ResourceDefinition,
  body: { bytes: Buffer; contentType: string | undefined },
  options: ParsedWriteOptions,
): Promise<Scale> {
  try {
    return (await readObject(scaleKind, body, options)) as Scale
  } catch (error) {
    if (!custom || !(error instanceof StatusError) || error.code !== 400) throw error
    throw badRequest('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')
  }
}

export const patchScale: WriteHandler = async (api, context) => {
  const { exchange, definition: resource } = context
  const type = patchMediaType(exchange.request.headers['content-type'], resource)
  if (type === 'application/apply-patch+yaml') return applyScale(api, context)
  const options = parseWriteOptions(exchange, 'PatchOptions', { isApply: false })
  const text = (await exchange.smallBody()).toString('utf8')
  exchange.audit?.patched(text)
  return write(api, context, options, (live) => {
    const { fieldValidation, limits } = options
    const { schema } = scaleKind
    const read = () => readPatch(type, text, { schema, fieldValidation, maxValues: limits.bodyValues })
    const shown = live()
    return patched(scaleKind, () => structuredClone(shown), read, options) as Scale
  })
}

const applyScale: WriteHandler = (api, context) =>
  (context.definition.custom ? applyCustomScale : applyWorkloadScale)(api, context)

/** Applies to the view of an object, and keeps managedFields on the object itself. */
const applyWorkloadScale: WriteHandler = async (api, context) => {
  const { exchange } = context
  const options = parseWriteOptions(exchange, 'PatchOptions', { isApply: true })
  const text = (await exchange.smallBody()).toString('utf8')
  exchange.audit?.patched(text)
  const config = await readConfig(text, options)
  const { fieldManager: manager, force, limits } = options
  const isApply = true
  return write(api, { ...context, isApply }, options, async (live) => {
    checkType(scaleKind, config)
    const time = toTime(api.clock.now())
    const request = { manager, force, subresource: 'scale', time, maxCauseBytes: limits.causeBytes }
    const merged = await applyFields(scaleKind, live(), config, request)
    return decodeMerged(scaleKind, merged, config, limits.bodyValues) as Scale
  })
}

/**
 * A real server applies scales of custom resources only so far: it finds conflicts, and then cannot convert what it
 * merged.
 */
const applyCustomScale: WriteHandler = async (api, { exchange, definition: resource, target }) => {
  const options = parseWriteOptions(exchange, 'PatchOptions', { isApply: true })
  const { bodyValues, causeBytes } = options.limits
  const text = (await exchange.smallBody()).toString('utf8')
  exchange.audit?.patched(text)
  const { value: body } = await parseYaml(text, bodyValues)
  const value = body as Scale | null
  const { apiVersion, kind } = value ?? {}
  if (kind && (kind !== 'Scale' || apiVersion !== 'autoscaling/v1'))
    throw badRequest(`invalid object type: ${apiVersion}, Kind=${kind}`)
  const stored = api.registry.get({ ...target, definition: resource, name: target.name ?? '', user: exchange.user })
  const object = decodeStored(stored)
  const { access, path } = new ScaleView(resource)
  const wanted = value?.spec?.replicas
  const shown = `(${value?.metadata?.namespace ?? ''}/${target.name}; autoscaling/v1, Kind=Scale)`
  if (wanted !== undefined && wanted !== null && typeof wanted !== 'number')
    throw plainError(
      `failed to create typed patch object ${shown}: .spec.replicas: expected numeric (int or float), got ${printType(wanted)}`,
    )
  const owners = ((object.metadata.managedFields ?? []) as ManagedFieldsEntry[]).filter(
    (entry) => entry.manager !== options.fieldManager && !isEmpty(intersection(fieldsOf(entry), path)),
  )
  if (!options.force && owners.length > 0 && wanted !== access.specReplicas(object))
    throw applyConflict(
      owners.map((entry) => ({ entry: { ...entry, apiVersion: apiVersionOf(scaleKind) }, fields: specReplicas })),
      causeBytes,
    )
  throw plainError(
    `failed to convert new object ${shown} to proper version: request to convert CR to an invalid group/version: autoscaling/v1`,
  )
}

interface ScaleExchange extends ResourceExchange {
  isApply?: boolean
  /** A mistake in the body is refused even if there is no object. */
  readsBodyFirst?: boolean
}

async function write(
  api: ApiContext,
  { exchange, definition: resource, target, isApply = false, readsBodyFirst = false }: ScaleExchange,
  options: ReturnType<typeof parseWriteOptions>,
  /** Receives the Scale as its managers see it. */
  change: (live: () => Scale) => Scale | Promise<Scale>,
): Promise<WriteAnswer> {
  const negotiated = negotiate(exchange.request.headers.accept, false)
  const { namespace, name = '' } = target
  const view = new ScaleView(resource, name)
  const scope: ObjectScope = { definition: resource, namespace, name, subresource: 'scale', user: exchange.user }
  const { stored } = await api.registry.update(
    scope,
    {
      uidIsPrecondition: true,
      createAbsent: readsBodyFirst ? 'if the kind allows it' : 'never',
      view,
      async transform(current) {
        const object = current?.() ?? { metadata: {} }
        const before = view.showChecked(object)
        const live = (): Scale => view.owned(object, before)
        const scale = await change(live)
        const { name: named, namespace: place } = scale.metadata
        if (place && place !== namespace) throw otherNamespace()
        checkName(named, name)
        if (current === undefined) throw notFound(resource, name)
        if (!isApply) {
          const { fieldManager: manager } = options
          scale.metadata.managedFields = live().metadata.managedFields
          trackFields(scaleKind, live(), scale, { manager, subresource: 'scale', time: toTime(api.clock.now()) })
        }
        view.write(object, scale)
        return object
      },
    },
    { ...options, managedFieldsAreSet: true },
  )
  return answerOf({ api, exchange, resource }, view.show(decodeStored(stored)), negotiated)
}

function answerOf(
  {
    api,
    exchange,
    resource,
  }: { api: ApiContext; exchange: ResourceExchange['exchange']; resource: ResourceDefinition },
  scale: Scale,
  negotiated: ReturnType<typeof negotiate>,
): WriteAnswer {
  const { resourceVersion, ...metadata } = scale.metadata
  const value = toJson({ metadata, spec: scale.spec, status: scale.status })
  const stored = { value, revision: resourceVersion === undefined ? undefined : Number(resourceVersion) }
  const shown = resource.custom ? customScaleKind : scaleKind
  const json = encodeForClient(shown, stored, { negotiated, query: exchange.info.query, clock: api.clock })
  return { status: 200, json, negotiated }
}
