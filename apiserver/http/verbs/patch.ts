import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { parseExact, toJson } from '../../../shared/api/json/exact-json.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { resetsManagedFields } from '../../patch/managed-fields.ts'
import { checkNamespace } from '../../registry/writes/before-update.ts'
import type { CopyCurrent } from '../../registry/writes/update-object.ts'
import type { Decoded } from '../../validation/decoder.ts'
import { invalid, invalidObject } from '../../validation/field-error.ts'
import { jsonWord } from '../../validation/json-word.ts'
import { decodeBody } from '../../validation/request-body.ts'
import type { ApiContext } from '../api-context.ts'
import { invalidPatch, type Patch, patchMediaType, readPatch } from '../body/patch-body.ts'
import { negotiateObject } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { WriteAnswer } from '../handler.ts'
import { type ParsedWriteOptions, parseWriteOptions } from '../options/write-options.ts'
import { apply } from './apply.ts'
import { checkName } from './update.ts'

export async function patch(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<WriteAnswer> {
  const { request, info, user } = exchange
  const type = patchMediaType(request.headers['content-type'], definition)
  const negotiated = negotiateObject(request.headers.accept, target)
  if (type === 'application/apply-patch+yaml') return apply(api, { exchange, definition, target })
  const options = parseWriteOptions(exchange, 'PatchOptions', { isApply: false })
  const text = (await exchange.body()).toString('utf8')
  exchange.audit?.patched(text)
  const { namespace, name = '', subresource } = target
  const scope = { definition, namespace, name, subresource, user }
  const { stored } = await api.registry.update(
    scope,
    {
      uidIsPrecondition: false,
      createAbsent: 'never',
      transform(current) {
        const { fieldValidation, limits } = options
        const { schema } = definition
        const read = () => readPatch(type, text, { schema, fieldValidation, maxValues: limits.bodyValues })
        const object = patched(definition, current!, read, options)
        checkNamespace(scope, object)
        checkName(object.metadata.name, name)
        definition.strategy.applyDefaults?.(object, api.registry.strategyContext(scope))
        return object
      },
    },
    options,
  )
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, clock: api.clock })
  return { status: 200, json, negotiated }
}

/** Reads the patch again: what it adds to an object becomes a part of that. */
type ReadPatch = () => Patch

/** The patch is applied to what a client would see, and the result is read like a body. */
export function patched(
  definition: ResourceDefinition,
  current: CopyCurrent,
  read: ReadPatch,
  { fieldValidation, limits, warn }: ParsedWriteOptions,
): KubeObject {
  const { kind } = definition
  const apiVersion = apiVersionOf(definition)
  const { apply, strictErrors, sortsProblems, changes, fractions } = read()
  const document = apply({ kind, apiVersion, ...current(changes) })
  // Decoding changes the document: a message quotes another one.
  const quoted = (): string => read().quote({ kind, apiVersion, ...current() })
  const reset = resetsManagedFields(document)
  if (definition.custom) checkGroup(definition, document)
  const wrongType = typeProblem(definition, document, quoted)
  if (wrongType) throw invalidPatch(quoted(), wrongType)
  if (fractions) {
    const text = quoted()
    const mistake = firstMistake(definition, text)
    if (mistake) throw invalidPatch(text, mistake)
  }
  try {
    const decoded = decodePatched(definition, document as Record<string, unknown>, limits.bodyValues)
    if (reset) decoded.object.metadata.managedFields = []
    if (fieldValidation === 'Ignore') return decoded.object
    const unknown = sortsProblems ? decoded.strictErrors.sort() : decoded.strictErrors
    const problems = [...strictErrors, ...unknown]
    if (problems.length > 0 && fieldValidation === 'Strict') {
      throw invalidPatch(quoted(), `strict decoding error: ${problems.join(', ')}`)
    }
    for (const problem of problems) warn(problem)
    return decoded.object
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 400) throw error
    const text = quoted()
    throw invalidPatch(text, firstMistake(definition, text) ?? reasonOf(error))
  }
}

/** A custom resource of another group is refused by the checks of its fields. */
function checkGroup(definition: ResourceDefinition, document: unknown): void {
  const { apiVersion, kind, metadata } = document as KubeObject
  if (typeof apiVersion !== 'string' || !/^[^/]+\/[^/]+$/.test(apiVersion)) return
  const [group = ''] = apiVersion.split('/')
  if (group === definition.group) return
  const wanted = invalid('apiVersion', apiVersion, `must be ${apiVersionOf(definition)}`)
  throw invalidObject({ group, kind: String(kind) }, metadata?.name ?? '', [wanted])
}

const reasonOf = ({ message }: StatusError): string =>
  message.replace(/^.*? in version "[^"]*" cannot be handled as a \S+: /s, '')

/** Returns the first mistake in the order of the quoted text, whose keys are not in the order of the object's. */
function firstMistake(definition: ResourceDefinition, text: string): string | undefined {
  if (!text.startsWith('{')) return undefined // a strategic merge patch, which is not quoted as JSON
  try {
    decodeBody(definition, parseExact(text) as Record<string, unknown>, { text })
    return undefined
  } catch (error) {
    return error instanceof StatusError && error.code === 400 ? reasonOf(error) : undefined
  }
}

function decodePatched(definition: ResourceDefinition, document: Record<string, unknown>, maxValues: number): Decoded {
  if (definition.custom || document.apiVersion) {
    return decodeBody(definition, document, { fieldValidation: 'Warn', maxValues })
  }
  // Without a version a real server reads the fields of its internal type, which has none of these names.
  const { kind: _kind, apiVersion: _apiVersion, ...fields } = document
  const { object } = decodeBody(definition, {}, { maxValues })
  const strictErrors = Object.keys(fields)
    .sort()
    .map((name) => `unknown field ${JSON.stringify(name)}`)
  return { object, strictErrors }
}

/** Returns why a patched document says of no type what it is; undefined if it does. */
function typeProblem(
  { custom, group, kind: expected }: ResourceDefinition,
  document: unknown,
  quoted: () => string,
): string | undefined {
  if (typeof document !== 'object' || document === null) return undefined
  const { apiVersion, kind } = document as Record<string, unknown>
  for (const [name, value] of Object.entries({ apiVersion, kind })) {
    if (value === undefined || value === null || typeof value === 'string') continue
    const found = `json: cannot unmarshal ${jsonWord(value)} into Go struct field .${name} of type string`
    return `couldn't get version/kind; json parse error: ${found}`
  }
  if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2)
    return `unexpected GroupVersion string: ${apiVersion}`
  if (!custom && typeof apiVersion === 'string' && /^[^/]+\/$/.test(apiVersion))
    return `Object 'apiVersion' is missing in '${quoted()}'`
  if (!custom && !apiVersion && kind && kind !== expected) {
    const name = `no kind ${JSON.stringify(kind)} is registered for the internal version of group`
    return `${name} ${JSON.stringify(group)} in scheme "pkg/runtime/scheme.go:111"`
  }
  return custom && !kind ? `Object 'Kind' is missing in '${toJson(document)}'` : undefined
}
