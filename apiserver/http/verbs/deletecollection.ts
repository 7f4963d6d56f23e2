import { ignoreNotFound } from '../../../shared/api/status/status-error.ts'
import { keyPrefix } from '../../registry/keys.ts'
import { eventRounds } from '../../watchcache/event-rounds.ts'
import type { ApiContext } from '../api-context.ts'
import { negotiate } from '../encode/negotiation.ts'
import type { ResourceExchange } from '../exchange.ts'
import { parseListOptions } from '../options/list-options.ts'
import { readDeleteOptions } from './delete.ts'
import { readPage, sendPage } from './list.ts'

/** Each object as if it were deleted alone; those that go meanwhile are no mistake. Answers what was selected. */
export async function deletecollection(
  api: ApiContext,
  { exchange, definition, target }: ResourceExchange,
): Promise<void> {
  const { request, info, user } = exchange
  const negotiated = negotiate(request.headers.accept, false)
  const listOptions = parseListOptions(info.query, definition, false)
  const { deleteOptions, options } = await readDeleteOptions(api, exchange)
  for (const text of definition.strategy.deletionWarnings?.(deleteOptions) ?? []) exchange.warnings.add(text)
  const { namespace } = target
  const page = await readPage(api, api.registry.cacheOf(definition), {
    options: listOptions,
    selection: { prefix: keyPrefix(definition, namespace), labels: listOptions.labels, fields: listOptions.fields },
  })
  for (const { namespace, name } of page.items) {
    await api.registry
      .delete({ definition, namespace: namespace || undefined, name, user }, deleteOptions, options)
      .catch(ignoreNotFound)
  }
  await eventRounds.sent()
  return sendPage(api, exchange, { definition, page, negotiated })
}
