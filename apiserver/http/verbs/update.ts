import { apiVersionOf } from '../../../shared/api/api-version.ts'
import { badRequest } from '../../../shared/api/status/status-errors.ts'
import { checkNamespace } from '../../registry/writes/before-update.ts'
import type { ApiContext } from '../api-context.ts'
import { readObject } from '../body/request-object.ts'
import { negotiateObject } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { WriteAnswer } from '../handler.ts'
import { parseWriteOptions } from '../options/write-options.ts'

export async function update(
  api: ApiContext,
  { exchange, definition, target }: ResourceExchange,
): Promise<WriteAnswer> {
  const { request, info, user } = exchange
  const negotiated = negotiateObject(request.headers.accept, target)
  const options = parseWriteOptions(exchange, 'UpdateOptions')
  const bytes = await exchange.body()
  const { namespace, name = '', subresource } = target
  const scope = { definition, namespace, name, subresource, user }
  const { stored, created } = await api.registry.update(
    scope,
    {
      uidIsPrecondition: true,
      createAbsent: 'if the kind allows it',
      async transform() {
        const object = await readObject(definition, { bytes, contentType: request.headers['content-type'] }, options)
        definition.strategy.applyDefaults?.(object, api.registry.strategyContext(scope))
        exchange.audit?.requested({ kind: definition.kind, apiVersion: apiVersionOf(definition) }, object)
        checkNamespace(scope, object)
        checkName(object.metadata.name, name)
        return object
      },
    },
    options,
  )
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, clock: api.clock })
  return { status: created ? 201 : 200, json, negotiated }
}

export function checkName(inBody: string | undefined, inUrl: string): void {
  if (!inBody) {
    throw badRequest(`the name of the object (${inUrl} based on URL) was undeterminable: name must be provided`)
  }
  if (inBody !== inUrl) {
    throw badRequest(`the name of the object (${inBody}) does not match the name on the URL (${inUrl})`)
  }
}
