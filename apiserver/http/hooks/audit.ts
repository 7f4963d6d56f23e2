import type { Auditor } from '../../audit/auditor.ts'
import { AuditedRequest } from '../../audit/event.ts'
import { anonymousUser } from '../../auth/anonymous.ts'
import type { Attributes } from '../../auth/types.ts'
import type { User } from '../../kind/user.ts'
import { attributesOf, isLongRunning } from '../attributes.ts'
import type { Exchange } from '../exchange.ts'

/** Tells the audit log of requests, from the moment when their user is known. */
export interface Audit {
  /** `attributes`: those of a request of the user who has authenticated. */
  begin(exchange: Exchange, asker: User, attributes: Attributes): void
  /** The client's credentials are bad. */
  refuse(exchange: Exchange): void
}

export function audit(auditor: Auditor): Audit {
  const make = (exchange: Exchange, asker: User | undefined, attributes: Attributes): AuditedRequest | undefined => {
    const { request, info, reply } = exchange
    const verdict = auditor.verdictOn(attributes)
    if (!verdict) return undefined
    const apiVersion = info.target?.version ?? ''
    const uri = reply.request.originalUrl
    const isLong = isLongRunning(attributes)
    return new AuditedRequest({ request, uri, asker, attributes, apiVersion, verdict, isLongRunning: isLong, auditor })
  }
  return {
    begin(exchange, asker, attributes) {
      const audited = make(exchange, asker, attributes)
      if (!audited) return
      exchange.audit = audited
      if (!audited.isLongRunning) return
      tellStart(exchange, audited)
      const { response, upgrade } = exchange
      const end = (): void => audited.completed(upgrade && !response.headersSent ? 101 : response.statusCode)
      exchange.onClose(end)
      upgrade?.socket.once('close', end)
    },
    refuse(exchange) {
      make(exchange, undefined, attributesOf(exchange.info, { ...anonymousUser, name: '', groups: [] }))?.refused()
    },
  }
}

/** The event of the beginning is written with the head of the answer. */
function tellStart({ response }: Exchange, audited: AuditedRequest): void {
  const writeHead = response.writeHead as (...args: unknown[]) => typeof response
  response.writeHead = ((code: number, ...rest: unknown[]) => {
    audited.started(code)
    return writeHead.call(response, code, ...rest)
  }) as typeof response.writeHead
}
