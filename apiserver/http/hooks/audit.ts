import type { Clock } from '../../../shared/clock/clock.ts'
import type { Auditor } from '../../audit/auditor.ts'
import { AuditedRequest } from '../../audit/event.ts'
import { anonymousUser } from '../../auth/anonymous.ts'
import type { User } from '../../kind/user.ts'
import { attributesOf, isLongRunning } from '../attributes.ts'
import type { Exchange } from '../exchange.ts'

/** Tells the audit log of requests, from the moment when their user is known. */
export interface Audit {
  begin(exchange: Exchange, asker: User): void
  /** The client's credentials are bad. */
  refuse(exchange: Exchange): void
}

export function audit(auditor: Auditor, clock: Clock): Audit {
  const make = (exchange: Exchange, asker: User | undefined): AuditedRequest | undefined => {
    const { request, info, reply } = exchange
    const attributes = attributesOf(info, asker ?? { ...anonymousUser, name: '', groups: [] })
    const verdict = auditor.verdictOn(attributes)
    if (!verdict) return undefined
    const nowMs = (): number => clock.now()
    const apiVersion = info.target?.version ?? ''
    const uri = reply.request.originalUrl
    return new AuditedRequest({ request, uri, asker, attributes, apiVersion, verdict, nowMs, write: auditor.write })
  }
  return {
    begin(exchange, asker) {
      const audited = make(exchange, asker)
      if (!audited) return
      exchange.audit = audited
      const { response, upgrade, info } = exchange
      const codeOf = (): number => (upgrade && !response.headersSent ? 101 : response.statusCode)
      if (isLongRunning(attributesOf(info, asker))) tellStart(exchange, audited)
      let isOver = false
      const end = (): void => {
        if (isOver) return
        isOver = true
        audited.completed(codeOf())
      }
      exchange.onClose(end)
      upgrade?.socket.once('close', end)
    },
    refuse(exchange) {
      make(exchange, undefined)?.refused()
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
