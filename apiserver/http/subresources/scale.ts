import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { toJson } from '../../../shared/api/json/exact-json.ts'
import { formatSelectorObject } from '../../../shared/api/selectors/label-selector.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import {
  badRequest,
  internalError,
  notFound,
  plainError,
  resourceNotFound,
} from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { scaleAccess } from '../../apiextensions/scale.ts'
import { age, ageColumn, column, nameColumn } from '../../kind/cells.ts'
import { applyFields, trackFields } from '../../kind/field-manager.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import type { ScaleAccess } from '../../kind/scale-access.ts'
import { applyConflict } from '../../patch/apply-conflict.ts'
import { fieldsOf, type ManagedFieldsEntry } from '../../patch/managed-fields.ts'
import { type FieldsV1, intersection, isEmpty } from '../../patch/structured-merge/fields.ts'
import { printType } from '../../patch/structured-merge/go-print.ts'
import type { AdmissionView } from '../../registry/admission-plugin.ts'
import { decodeStored } from '../../registry/stored-object.ts'
import type { ObjectScope } from '../../registry/write-context.ts'
import { otherNamespace } from '../../registry/writes/before-create.ts'
import { invalid, invalidObject } from '../../validation/field-error.ts'
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
import { scaleOwners, specReplicas, withScaleOwners } from './scale-owners.ts'

/** autoscaling/v1 Scale: a view of an object that shows, and lets one write, how many replicas it has. */
interface Scale extends KubeObject {
  spec: { replicas?: number }
  status: { replicas: number; selector?: string }
}

const definition: ResourceDefinition = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  plural: 'scales',
  singular: 'scale',
  namespaced: true,
  schema: 'io.k8s.api.autoscaling.v1.Scale',
  columns: [
    { ...nameColumn, format: '' },
    column('Desired', 'How many replicas are wanted.', { type: 'integer' }),
    column('Available', 'How many replicas were seen.', { type: 'integer' }),
    ageColumn,
  ],
  cells({ metadata, spec, status }, nowMs) {
    const { replicas = 0 } = (spec ?? {}) as Scale['spec']
    const { replicas: seen = 0 } = (status ?? {}) as Scale['status']
    return [metadata.name, replicas, seen, age(metadata.creationTimestamp, nowMs)]
  },
  strategy: {},
  example: { metadata: { name: 'example' } },
}

export const getScale: Handler = async (api, { exchange, definition: resource, target }) => {
  const negotiated = negotiate(exchange.request.headers.accept, false)
  const access = accessOf(resource)
  await seeRevision(api, api.registry.cacheOf(resource), exchange.info)
  const stored = api.registry.get({ ...target, definition: resource, name: target.name ?? '', user: exchange.user })
  const object = decodeStored(stored)
  const scale = readableScale(object, access)
  if (access.specReplicas(object) === undefined)
    throw internalError(`the spec replicas field ${JSON.stringify(access.specReplicasPath)} does not exist`)
  sendJson(exchange, answerOf({ api, exchange }, scale, negotiated), negotiated)
}

export const updateScale: WriteHandler = async (api, context) => {
  const { exchange } = context
  const options = parseWriteOptions(exchange, 'UpdateOptions')
  const bytes = await exchange.smallBody()
  return write(api, { ...context, readsBodyFirst: true }, options, () => {
    const body = { bytes, contentType: exchange.request.headers['content-type'] }
    return readScale(context.definition, body, options)
  })
}

/** A real server does not know the type of the scale of a custom resource when it words what is wrong with it. */
async function readScale(
  { custom }: ResourceDefinition,
  body: { bytes: Buffer; contentType: string | undefined },
  options: ParsedWriteOptions,
): Promise<Scale> {
  try {
    return (await readObject(definition, body, options)) as Scale
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
  const path = replicasField(accessOf(resource))
  return write(api, context, options, (current, object) => {
    const { fieldValidation, limits } = options
    const { schema } = definition
    const read = () => readPatch(type, text, { schema, fieldValidation, maxValues: limits.bodyValues })
    const shown = withOwners(current, object, path)
    return patched(definition, () => structuredClone(shown), read, options) as Scale
  })
}

const applyScale: WriteHandler = (api, context) =>
  (context.definition.custom ? applyCustomScale : applyWorkloadScale)(api, context)

/** Applies to the view of an object, and keeps managedFields on the object itself. */
const applyWorkloadScale: WriteHandler = async (api, context) => {
  const { exchange } = context
  const options = parseWriteOptions(exchange, 'PatchOptions', { isApply: true })
  const config = await readConfig((await exchange.smallBody()).toString('utf8'), options)
  const { fieldManager: manager, force, limits } = options
  const isApply = true
  return write(api, { ...context, isApply }, options, (current, object) => {
    checkType(definition, config)
    const live = withOwners(current, object, specReplicas)
    const time = toTime(api.clock.now())
    const request = { manager, force, subresource: 'scale', time, maxCauseBytes: limits.causeBytes }
    const merged = applyFields(definition, live, config, request)
    return decodeMerged(definition, merged, config, limits.bodyValues) as Scale
  })
}

/** The scale as its managers see it. */
const withOwners = (scale: Scale, object: KubeObject, path: FieldsV1): Scale => ({
  ...scale,
  metadata: { ...scale.metadata, managedFields: scaleOwners(object, path) },
})

/**
 * A real server applies scales of custom resources only so far: it finds conflicts, and then cannot convert what it
 * merged.
 */
const applyCustomScale: WriteHandler = async (api, { exchange, definition: resource, target }) => {
  const options = parseWriteOptions(exchange, 'PatchOptions', { isApply: true })
  const { bodyValues, causeBytes } = options.limits
  const { value: body } = await parseYaml((await exchange.smallBody()).toString('utf8'), bodyValues)
  const value = body as Scale | null
  const { apiVersion, kind } = value ?? {}
  if (kind && (kind !== 'Scale' || apiVersion !== 'autoscaling/v1'))
    throw badRequest(`invalid object type: ${apiVersion}, Kind=${kind}`)
  const stored = api.registry.get({ ...target, definition: resource, name: target.name ?? '', user: exchange.user })
  const object = decodeStored(stored)
  const access = accessOf(resource)
  const wanted = value?.spec?.replicas
  const shown = `(${value?.metadata?.namespace ?? ''}/${target.name}; autoscaling/v1, Kind=Scale)`
  if (wanted !== undefined && wanted !== null && typeof wanted !== 'number')
    throw plainError(
      `failed to create typed patch object ${shown}: .spec.replicas: expected numeric (int or float), got ${printType(wanted)}`,
    )
  const path = replicasField(access)
  const owners = ((object.metadata.managedFields ?? []) as ManagedFieldsEntry[]).filter(
    (entry) => entry.manager !== options.fieldManager && !isEmpty(intersection(fieldsOf(entry), path)),
  )
  if (!options.force && owners.length > 0 && wanted !== access.specReplicas(object))
    throw applyConflict(
      owners.map((entry) => ({ entry: { ...entry, apiVersion: apiVersionOf(definition) }, fields: specReplicas })),
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
  change: (current: Scale, object: KubeObject) => Scale | Promise<Scale>,
): Promise<WriteAnswer> {
  const negotiated = negotiate(exchange.request.headers.accept, false)
  const access = accessOf(resource)
  const path = replicasField(access)
  const { namespace, name = '' } = target
  const scope: ObjectScope = { definition: resource, namespace, name, subresource: 'scale', user: exchange.user }
  const { stored } = await api.registry.update(
    scope,
    {
      uidIsPrecondition: true,
      createAbsent: readsBodyFirst ? 'if the kind allows it' : 'never',
      view: scaleView(name, access),
      async transform(current) {
        const object = current?.() ?? { metadata: {} }
        const scale = await change(readableScale(object, access), object)
        const { name: named, namespace: place } = scale.metadata
        if (place && place !== namespace) throw otherNamespace()
        checkName(named, name)
        if (current === undefined) throw notFound(resource, name)
        if (!isApply) {
          const live = withOwners(scaleOf(object, access), object, path)
          scale.metadata.managedFields = scaleOwners(object, path)
          const { fieldManager: manager } = options
          trackFields(definition, live, scale, { manager, subresource: 'scale', time: toTime(api.clock.now()) })
        }
        setReplicas(object, scale, { name, access })
        const { metadata } = object
        const { resourceVersion, uid, managedFields } = scale.metadata
        if (resourceVersion) metadata.resourceVersion = resourceVersion
        if (uid) metadata.uid = uid
        const owners = (managedFields ?? []) as ManagedFieldsEntry[]
        metadata.managedFields = withScaleOwners(object, owners, { apiVersion: apiVersionOf(resource), path })
        return object
      },
    },
    { ...options, managedFieldsAreSet: true },
  )
  return answerOf({ api, exchange }, scaleOf(decodeStored(stored), access), negotiated)
}

function setReplicas(
  object: KubeObject,
  { spec }: Scale,
  { name, access }: { name: string; access: ScaleAccess },
): void {
  const replicas = spec?.replicas ?? 0
  if (replicas === unset)
    throw badRequest(`the spec replicas field ${JSON.stringify(access.specReplicasPath)} cannot be empty`)
  // The rules of a custom resource refuse its own negative replicas.
  if (replicas < 0 && access === workloadScale) throw negativeReplicas(name, replicas)
  access.setSpecReplicas(object, replicas)
}

/** Admission is asked about the scale, too, not about what is scaled. */
const scaleView = (name: string, access: ScaleAccess): AdmissionView => ({
  ...definition,
  show: (object) => scaleOf(object, access),
  change: (object, scale) => setReplicas(object, scale as Scale, { name, access }),
})

const negativeReplicas = (name: string, replicas: number): StatusError =>
  invalidObject(definition, name, [invalid('spec.replicas', replicas, 'must be greater than or equal to 0')])

function answerOf(
  { api, exchange }: { api: ApiContext; exchange: ResourceExchange['exchange'] },
  scale: Scale,
  negotiated: ReturnType<typeof negotiate>,
): WriteAnswer {
  const { resourceVersion, ...metadata } = scale.metadata
  const value = toJson({ metadata, spec: scale.spec, status: scale.status })
  const stored = { value, revision: resourceVersion === undefined ? undefined : Number(resourceVersion) }
  const json = encodeForClient(definition, stored, { negotiated, query: exchange.info.query, clock: api.clock })
  return { status: 200, json, negotiated }
}

/** Stands for the replicas of a custom resource that has none: a write has to set them. */
const unset = -2_147_483_648

/** Throws a StatusError (500) if a custom resource has something else in the place of a number or the selector. */
function readableScale(object: KubeObject, access: ScaleAccess): Scale {
  for (const field of ['spec', 'status', 'selector'] as const) {
    const problem = field !== 'selector' || access.selectorPath ? access.problem(object, field) : undefined
    if (problem) throw plainError(problem)
  }
  return scaleOf(object, access)
}

function scaleOf(object: KubeObject, access: ScaleAccess): Scale {
  const replicas = access.specReplicas(object) ?? unset
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const selector = access.selector(object)
  return {
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: access.statusReplicas(object), ...(selector && { selector }) },
  }
}

function accessOf({ custom, subresources }: ResourceDefinition): ScaleAccess {
  const access = custom ? custom.scale : subresources?.scale ? workloadScale : undefined
  if (access === undefined) throw resourceNotFound()
  return access
}

/** All built-in kinds that scale keep their replicas in the same fields. */
const workloadScale: ScaleAccess = {
  ...scaleAccess({ specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }),
  selector({ spec }) {
    const selector = (spec as { selector?: Record<string, unknown> } | undefined)?.selector
    if (!selector) return ''
    const isPlain = !('matchLabels' in selector) && !('matchExpressions' in selector)
    return formatSelectorObject(isPlain ? { matchLabels: selector as Record<string, string> } : selector)
  },
}

const replicasField = ({ specReplicasPath }: ScaleAccess): FieldsV1 =>
  specReplicasPath
    .slice(1)
    .split('.')
    .reduceRight<FieldsV1>((fields, name) => ({ [`f:${name}`]: fields }), {})
