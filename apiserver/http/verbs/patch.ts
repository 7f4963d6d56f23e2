import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import { resetsManagedFields } from '../../patch/managed-fields.ts'
import { decodeBody } from '../../validation/request-body.ts'
import type { ApiContext } from '../api-context.ts'
import { invalidPatch, type Patch, patchMediaType, readPatch } from '../body/patch-body.ts'
import { negotiate } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { WriteAnswer } from '../handler.ts'
import { type ParsedWriteOptions, parseWriteOptions } from '../options/write-options.ts'
import { apply } from './apply.ts'
import { checkName } from './update.ts'

export async function patch(api: ApiContext, { exchange, definition, target }: ResourceExchange): Promise<WriteAnswer> {
  const { request, info, user } = exchange
  const negotiated = negotiate(request.headers.accept, false)
  const type = patchMediaType(request.headers['content-type'], definition)
  if (type === 'application/apply-patch+yaml') return apply(api, { exchange, definition, target })
  const options = parseWriteOptions(exchange, 'PatchOptions', { isApply: false })
  const text = (await exchange.body()).toString('utf8')
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
        const read = readPatch(type, text, { schema, fieldValidation, maxValues: limits.bodyValues })
        const object = patched(definition, current!(), read, options)
        checkName(object.metadata.name, name)
        definition.strategy.applyDefaults?.(object, api.registry.strategyContext(scope))
        return object
      },
    },
    options,
  )
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, nowMs: api.clock.now() })
  return { status: 200, json, negotiated }
}

/** The patch is applied to what a client would see, and the result is read like a body. */
export function patched(
  definition: ResourceDefinition,
  current: KubeObject,
  { apply, strictErrors, show, sortsProblems }: Patch,
  { fieldValidation, limits, warn }: ParsedWriteOptions,
): KubeObject {
  const document = apply({ kind: definition.kind, apiVersion: apiVersionOf(definition), ...current })
  const reset = resetsManagedFields(document)
  try {
    const decoded = decodeBody(definition, document as Record<string, unknown>, {
      fieldValidation: 'Warn',
      maxValues: limits.bodyValues,
    })
    if (reset) decoded.object.metadata.managedFields = []
    if (fieldValidation === 'Ignore') return decoded.object
    const unknown = sortsProblems ? decoded.strictErrors.sort() : decoded.strictErrors
    const problems = [...strictErrors, ...unknown]
    if (problems.length > 0 && fieldValidation === 'Strict') {
      throw invalidPatch(show(document), `strict decoding error: ${problems.join(', ')}`)
    }
    for (const problem of problems) warn(problem)
    return decoded.object
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 400) throw error
    throw invalidPatch(
      show(document),
      error.message.replace(/^\S+ in version "[^"]*" cannot be handled as a \S+: /, ''),
    )
  }
}
