import type { DeleteOptions } from '../../../shared/api/types.ts'
import type { WriteOptions } from '../../registry/write-context.ts'
import type { ApiContext } from '../api-context.ts'
import { negotiate } from '../encode/negotiation.ts'
import { encodeForClient } from '../encode/object-encoder.ts'
import type { Exchange, ResourceExchange } from '../exchange.ts'
import type { WriteAnswer } from '../handler.ts'
import { decodeDeleteOptions, parseDeleteBody, parseDeleteOptions } from '../options/delete-options.ts'
import { fenceIn } from '../options/write-options.ts'

export async function deleteVerb(
  api: ApiContext,
  { exchange, definition, target }: ResourceExchange,
): Promise<WriteAnswer> {
  const { request, info, user } = exchange
  const negotiated = negotiate(request.headers.accept, false)
  const { deleteOptions, options } = await readDeleteOptions(api, exchange)
  const { namespace, name = '' } = target
  const { stored, removed } = await api.registry.delete({ definition, namespace, name, user }, deleteOptions, options)
  if (removed && !definition.strategy.returnsDeletedObject) {
    const { uid } = (JSON.parse(stored.value) as { metadata: { uid: string } }).metadata
    const details = { name, ...(definition.group && { group: definition.group }), kind: definition.plural, uid }
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
    return { status: 200, json: JSON.stringify(status), negotiated: { encoding: negotiated.encoding } }
  }
  const json = encodeForClient(definition, stored, { negotiated, query: info.query, clock: api.clock })
  const accepted = !removed && deleteOptions.orphanDependents === false
  return { status: accepted ? 202 : 200, json, negotiated }
}

/** Names the options as a real server does in its audit log. */
const internalOptions = { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/__internal' }

export async function readDeleteOptions(
  api: ApiContext,
  exchange: Exchange,
): Promise<{ deleteOptions: DeleteOptions; options: WriteOptions }> {
  const { request, info, limits, warnings, audit } = exchange
  const bytes = await exchange.smallBody()
  const body = await parseDeleteBody(bytes, request.headers['content-type'], limits.bodyValues)
  if (body !== undefined && audit?.wantsRequest) {
    const { kind: _kind, apiVersion: _apiVersion, ...asked } = decodeDeleteOptions(body)
    audit.requested(internalOptions, asked)
  }
  const { featureGates } = api.registry
  const deleteOptions = parseDeleteOptions(body, info.query, { featureGates, warn: warnings.add })
  return {
    deleteOptions,
    options: {
      dryRun: (deleteOptions.dryRun ?? []).length > 0,
      fieldManager: '',
      fence: fenceIn(request),
      asked: { ...deleteOptions },
      warn: warnings.add,
      annotate: audit?.annotate,
    },
  }
}
