import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { StatusError } from '../../../shared/api/status/status-error.ts'
import { badRequest, conflict, plainError } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { applyFields } from '../../kind/field-manager.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { conversionError } from '../../patch/from-unstructured.ts'
import { objectKey } from '../../registry/keys.ts'
import type { ObjectScope } from '../../registry/write-context.ts'
import { checkNamespace } from '../../registry/writes/before-update.ts'
import { DecodeError, decodeObject } from '../../validation/decoder.ts'
import { jsonWord } from '../../validation/json-word.ts'
import { warnOf } from '../../validation/strict-errors.ts'
import type { ApiContext } from '../api-context.ts'
import { parseYaml, YamlError } from '../body/yaml-body.ts'
import { negotiateObject } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { WriteAnswer } from '../handler.ts'
import { type ParsedWriteOptions, parseWriteOptions } from '../options/write-options.ts'
import { UnchangedApply } from './unchanged-apply.ts'
import { checkName } from './update.ts'

export type Config = Record<string, unknown> & { apiVersion?: string; kind?: string; metadata?: KubeObject['metadata'] }

/** Server-side apply: creates what is not there, and merges into what is. */
export async function apply(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<WriteAnswer> {
  const { request, info, user } = exchange
  const negotiated = negotiateObject(request.headers.accept, target)
  const parsed = parseWriteOptions(exchange, 'PatchOptions', { isApply: true })
  const body = await exchange.body()
  exchange.audit?.patched(body.toString('utf8'))
  const unchanged = new UnchangedApply(exchange, body)
  const options = { ...parsed, warn: unchanged.warn }
  const { namespace, name = '', subresource } = target
  const scope = { definition, namespace, name, subresource, user }
  const current = api.registry.cacheOf(definition).get(objectKey(definition, namespace, name))
  let config = current && unchanged.isKnown(current) ? undefined : await readConfig(body.toString('utf8'), options)
  const { stored, created } = await api.registry.update(
    scope,
    {
      uidIsPrecondition: false,
      createAbsent: subresource ? 'never' : 'always',
      unchanged,
      async transform(current) {
        config ??= await readConfig(body.toString('utf8'), options)
        return applied(api, scope, { current: current?.(), config, options })
      },
    },
    { ...options, managedFieldsAreSet: true },
  )
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, clock: api.clock })
  return { status: created ? 201 : 200, json, negotiated }
}

/** Returns the object that a configuration makes of the current one. */
export async function applied(
  api: ApiContext,
  scope: ObjectScope,
  { current, config, options }: { current: KubeObject | undefined; config: Config; options: ParsedWriteOptions },
): Promise<KubeObject> {
  const { definition, name, subresource } = scope
  checkType(definition, config)
  const { fieldManager: manager, force, limits } = options
  const request = { manager, force, subresource, time: toTime(api.clock.now()), maxCauseBytes: limits.causeBytes }
  const merged = await applyFields(definition, current, config, request)
  const object = decodeMerged(definition, merged, config, limits.bodyValues)
  const { uid } = object.metadata
  if (uid && !current) throw uidMismatch(definition, name, uid)
  checkNamespace(scope, object)
  checkName(object.metadata.name, name)
  definition.strategy.applyDefaults?.(object, api.registry.strategyContext(scope))
  return object
}

/**
 * Reads the applied configuration as plain data. JSON is read as YAML. Throws a StatusError (400) for malformed YAML
 * and for anything but an object; duplicate keys are an error or a warning, as `fieldValidation` says.
 */
export async function readConfig(text: string, { fieldValidation, limits, warn }: ParsedWriteOptions): Promise<Config> {
  const { value, duplicates } = await readYaml(text, limits.bodyValues)
  for (const duplicate of fieldValidation === 'Ignore' ? [] : duplicates) {
    const problem = `error converting YAML to JSON: ${duplicate}`
    if (fieldValidation === 'Strict') throw badRequest(`error strict decoding YAML: ${problem}`)
    warnOf([problem], warn)
  }
  if (value === null) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value as Config
  const found = jsonWord(value)
  throw badRequest(
    `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${found} into Go value of type map[string]interface {}`,
  )
}

async function readYaml(text: string, maxValues: number): ReturnType<typeof parseYaml> {
  try {
    return await parseYaml(text, maxValues)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`)
  }
}

/** Prints a type as Go does: `apps/v1, Kind=Deployment`, and `/v1, Kind=Pod` in the core group. */
function typeOf({ apiVersion, kind }: { apiVersion?: unknown; kind?: unknown }): string {
  const version = typeof apiVersion === 'string' ? apiVersion : ''
  return `${version.includes('/') ? version : `/${version}`}, Kind=${typeof kind === 'string' ? kind : ''}`
}

export function checkType(definition: ResourceDefinition, config: Config): void {
  const found = typeOf(config)
  const expected = typeOf({ apiVersion: apiVersionOf(definition), kind: definition.kind })
  if (found !== expected) throw badRequest(`invalid object type: ${found}`)
}

export function decodeMerged(
  definition: ResourceDefinition,
  merged: Record<string, unknown>,
  config: Config,
  maxValues: number,
): KubeObject {
  const refuse = (why: string): StatusError => {
    const type = typeOf(config)
    const object = `${config.metadata?.namespace ?? ''}/${config.metadata?.name ?? ''}; ${type}`
    return plainError(
      `failed to convert new object (${object}) to proper version: unable to convert unstructured object to ${type}: ${why}`,
    )
  }
  const wrong = definition.custom ? undefined : conversionError(definition.schema, merged)
  if (wrong) throw refuse(wrong)
  try {
    // Upstream drops the nulls that a custom resource's schema forbids from bodies, and not from what it has merged.
    return (definition.custom?.decode(merged, 'keep') ?? decodeObject(definition, merged, maxValues)).object
  } catch (error) {
    if (error instanceof DecodeError) throw refuse(error.message).atLimit(error.limit)
    throw error
  }
}

const uidMismatch = (definition: ResourceDefinition, name: string, uid: string): StatusError =>
  conflict(definition, name, `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`)
