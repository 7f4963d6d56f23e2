import { apiVersionOf } from '../../../shared/api/api-version.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { trackFields } from '../../kind/field-manager.ts'
import type { RequestScope } from '../../registry/write-context.ts'
import { checkNewObject } from '../../registry/writes/before-create.ts'
import { invalidObject } from '../../validation/field-error.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import type { ApiContext } from '../api-context.ts'
import { readObject } from '../body/request-object.ts'
import { negotiateWithoutTable } from '../encode/negotiation.ts'
import { encodeUnstored } from '../encode/object-encoder.ts'
import type { WriteHandler } from '../handler.ts'
import { parseWriteOptions } from '../options/write-options.ts'

/** Fills in the status of the review; what else the answer shows of it stays as it came. */
export type Answer<T extends KubeObject> = (
  review: T,
  context: { api: ApiContext; scope: RequestScope },
) => void | Promise<void>

/** A create that is answered and forgotten. The audit log shows its object with an empty status. */
export const review =
  <T extends KubeObject>(emptyStatus: object, answer: Answer<T>): WriteHandler =>
  async (api, { exchange, definition, target }) => {
    const { request, user } = exchange
    const negotiated = negotiateWithoutTable(request.headers.accept)
    const options = parseWriteOptions(exchange, 'CreateOptions')
    const raw = { bytes: await exchange.smallBody(), contentType: request.headers['content-type'] }
    const object = await readObject(definition, raw, options)
    const { kind } = definition
    const apiVersion = apiVersionOf(definition)
    exchange.audit?.requested({ kind, apiVersion }, { ...object, status: emptyStatus })
    const scope: RequestScope = { definition, namespace: target.namespace, user }
    checkNewObject(scope, object)
    if (definition.namespaced) object.metadata.namespace = target.namespace
    const time = toTime(api.clock.now())
    trackFields(definition, undefined, object, { manager: options.fieldManager, time })
    const { dryRun, warn, annotate, asked } = options
    const asking = { kind: 'CreateOptions', ...asked }
    const hears = { warn, annotate }
    await api.registry.admitUnstored({
      ...scope,
      operation: 'CREATE',
      name: '',
      object,
      dryRun,
      options: asking,
      ...hears,
    })
    await answer(object as T, { api, scope })
    const json = encodeUnstored(definition, { kind, apiVersion, ...object }, negotiated)
    return { status: 201, json, negotiated }
  }

/** Refuses a review that is not as it should be: oddly, by the group alone. */
export function refuseReview({ definition: { group } }: RequestScope, errors: FieldErrors): void {
  if (errors.length > 0) throw invalidObject({ group, kind: '' }, '', errors)
}
