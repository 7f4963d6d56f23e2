import { badRequest } from '../../../../shared/api/status-errors.ts'
import type { ApiContext } from '../../api-context.ts'
import { readBody } from '../../body/body.ts'
import { baseHeaders } from '../../encode/respond.ts'
import type { Exchange } from '../../exchange.ts'
import { addedLines } from './added-lines.ts'
import { feedOf } from './record-feed.ts'

const maxAddedBytes = 1024 * 1024
const maxTitle = 200

/**
 * Streams the record until the client leaves. Throws a StatusError: 400 without `watch=true`, 429 if there are too many
 * listeners.
 */
export function followRecord(api: ApiContext, exchange: Exchange): void {
  const { query } = exchange.info
  if (query.get('watch') !== 'true') throw badRequest('a record has no end: ask with ?watch=true')
  const feed = feedOf(api)
  feed.checkRoom()
  const response = exchange.takeOver()
  response.writeHead(200, { ...baseHeaders(exchange.request), 'content-type': 'application/x-ndjson' })
  response.flushHeaders()
  const history = query.get('history') === 'true'
  feed.follow(response, (query.get('title') ?? 'a cluster').slice(0, maxTitle), { history })
}

/** LOAD and MARK lines of a client, for all who listen. */
export async function addToRecord(api: ApiContext, { request }: Exchange): Promise<{ added: number }> {
  const text = (await readBody(request, maxAddedBytes)).toString('utf8')
  const lines = addedLines(text, new Date(api.clock.now()).toISOString())
  feedOf(api).add(lines)
  return { added: lines.length }
}
