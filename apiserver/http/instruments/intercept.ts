import { StatusError } from '../../../shared/api/status/status-error.ts'
import { durationMs } from '../../../shared/config/option-types.ts'
import type { Attributes } from '../../auth/types.ts'
import type { FaultEffect } from '../../instruments/faults.ts'
import { keyPrefix, objectKey } from '../../registry/keys.ts'
import type { ApiContext } from '../api-context.ts'
import type { Exchange } from '../exchange.ts'
import { type ArrivedRequest, arrive } from './arrival.ts'
import { reasonsByCode } from './reasons-by-code.ts'

/**
 * Notes the request in the journal, and does to it what a fault wants. Resolves to true when it needs no answer any
 * more.
 */
export async function intercept(api: ApiContext, exchange: Exchange, attributes: Attributes): Promise<boolean> {
  const { shared } = api.instruments
  const { request, response, info } = exchange
  const query = String(info.query)
  const { verb, user, resource } = attributes
  const arrived: ArrivedRequest = {
    verb,
    user: user.name,
    path: query === '' ? info.path : `${info.path}?${query}`,
    ...(resource && {
      group: resource.group,
      resource: resource.resource,
      subresource: resource.subresource,
      namespace: resource.namespace,
      name: resource.name,
    }),
    userAgent: request.headers['user-agent'],
  }
  const { machine } = api.clock
  const startedMs = machine.monotonic()
  const { effect, leave } = shared?.isActive ? await shared.arrive(arrived) : arrive(api.instruments, arrived)
  if (leave) {
    exchange.onClose(() => {
      const code = response.headersSent ? response.statusCode : 0
      leave({ code, durationMs: machine.monotonic() - startedMs, name: exchange.created?.metadata.name })
    })
  }
  return effect ? carryOut(api, exchange, effect) : false
}

async function carryOut(api: ApiContext, exchange: Exchange, effect: FaultEffect): Promise<boolean> {
  const { machine } = api.clock
  if (effect.delay !== undefined) await machine.sleep(durationMs(effect.delay))
  if (effect.status !== undefined) throw statusOf(effect.status)
  if (effect.reset) {
    exchange.response.destroy(new Error('cut on purpose'))
    exchange.served()
    return true
  }
  if (effect.dropWatch !== undefined) {
    const timer = machine.setTimer(durationMs(effect.dropWatch), () => exchange.response.destroy(), {
      background: true,
    })
    exchange.onClose(() => timer.cancel())
  }
  if (effect.stale !== undefined) makeStale(api, exchange, effect.stale)
  return false
}

/**
 * The read shows what was there before the last `writes` to what it reads, as far as that is remembered. Pages that
 * follow another are of one revision anyway.
 */
function makeStale({ catalog, registry }: ApiContext, exchange: Exchange, writes: number): void {
  const { target, query } = exchange.info
  const definition = target && catalog.find(target.group, target.version, target.resource)
  if (!definition || definition.virtual || query.has('continue')) return
  const cache = registry.cacheOf(definition)
  const key = target.name === undefined ? undefined : objectKey(definition, target.namespace, target.name)
  const prefix = key ?? keyPrefix(definition, target.namespace)
  const written = cache
    .eventsAfter(cache.oldestRevision())
    .filter((event) => (key === undefined ? event.key.startsWith(prefix) : event.key === key))
  const undone = written.at(-writes)
  exchange.asOf = undone ? undone.revision - 1 : cache.oldestRevision()
}

function statusOf(status: NonNullable<FaultEffect['status']>): StatusError {
  const {
    code,
    reason = reasonsByCode[code],
    message = 'failed on purpose',
    retryAfterSeconds,
  } = typeof status === 'number' ? { code: status } : status
  return new StatusError(
    { code, reason, message, ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }) },
    retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) },
  )
}
