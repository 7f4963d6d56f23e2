import { badRequest } from '../../../shared/api/status/status-errors.ts'
import { isMeant } from '../../instruments/request-filter.ts'
import { eventRounds } from '../../watchcache/event-rounds.ts'
import type { ApiContext } from '../api-context.ts'
import { readBody } from '../body/body.ts'
import { baseHeaders, sendJson } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import type { HandlesByMethod, PathHandle, PathRoutes } from '../routing/paths.ts'
import { filterOf, operationsOf } from './operations.ts'
import type { Operation } from './wanted.ts'

/** A handler returns this if it has answered by itself. */
const hasAnswered = Symbol('answered')
const maxSnapshotBytes = 1024 * 1024 * 1024
/** A client that leaves more of its watch on the journal unread is disconnected. */
const maxUnreadBytes = 64 * 1024 * 1024

/** These are the page's own handlers. The page's sessions decide which users may see it (apiserver/ui). */
export interface PageHandles {
  /** Answers with a link that opens the page. */
  link: PathHandle
  /** Serves the page, its assets and its actions; answers by itself. */
  serve: PathHandle
}

/** Serves the record, and takes lines of clients for it. */
export interface RecordHandles {
  /** Streams the record until the client leaves; answers by itself. */
  follow: PathHandle
  /** Answers with how many lines were added. */
  add: PathHandle
}

/** Answers requests for what stands beside the server. */
export interface BesideHandles {
  page: PageHandles
  record: RecordHandles
}

/** `/kubestage/v1/…`: journal, faults, snapshots, the record and the clock, for administrators only. */
export function instrumentRoutes(api: ApiContext, { page, record }: BesideHandles): PathRoutes {
  const { snapshots } = api.instruments
  const operations = operationsOf(api)
  const journal = handlesOf(api, '/journal', operations['/journal']!)
  const paths: Readonly<Record<string, HandlesByMethod>> = {
    ...Object.fromEntries(Object.entries(operations).map(([path, methods]) => [path, handlesOf(api, path, methods)])),
    '/journal': {
      ...journal,
      GET: (exchange, params) =>
        exchange.info.query.get('watch') === 'true' ? followJournal(api, exchange) : journal.GET!(exchange, params),
    },
    '/snapshot': {
      GET: () => snapshots.take(),
      PUT: async (exchange) => snapshots.restore(await readJson(exchange)),
    },
    '/record': { GET: answersItself(record.follow), POST: record.add },
    '/ui-links': { POST: page.link },
  }
  const entries = Object.entries(paths).map(([path, handles]) => answered([path, ofOneServer(api, path, handles)]))
  const get = { GET: page.serve }
  return {
    first: 'kubestage',
    paths: { ...Object.fromEntries(entries), '/ui': get, '/ui/*': get, '/ui/actions': { POST: page.serve } },
  }
}

const answersItself =
  (handle: PathHandle): PathHandle =>
  async (exchange, params) => {
    await handle(exchange, params)
    return hasAnswered
  }

/** Maps the paths of what each server has for itself to its name. Several servers cannot do it together. */
const own: Readonly<Record<string, string>> = {
  '/journal': 'a journal',
  '/faults': 'faults',
  '/faults/:id': 'faults',
  '/reset': 'a journal, faults and a start to go back to',
}

/** Refuses, where there are other servers, what would be done by one of them alone, unless that is asked for. */
function ofOneServer(api: ApiContext, path: string, handles: HandlesByMethod): HandlesByMethod {
  const what = own[path]
  const check = (exchange: Exchange, method: string): void => {
    const others = api.otherServers()
    if (others === 0 || api.instruments.shared) return
    const several = `${others + 1} API servers have the same objects`
    if (path === '/clock' && method !== 'GET') {
      throw badRequest(`${several}, and their time cannot be moved together: stop all but one`)
    }
    if (what && exchange.info.query.get('server') !== 'this') {
      throw badRequest(
        `${several}, and each has ${what} of its own: pass --this-server to kubestage, or ask each with ?server=this`,
      )
    }
  }
  const checked = ([method, handle]: [string, PathHandle]): [string, PathHandle] => [
    method,
    (exchange, params) => {
      check(exchange, method)
      return handle(exchange, params)
    },
  ]
  return Object.fromEntries(Object.entries(handles).map(checked))
}

const answered = ([path, handles]: [string, HandlesByMethod]): [string, HandlesByMethod] => [
  `/v1${path}`,
  Object.fromEntries(Object.entries(handles).map(([method, handle]) => [method, answering(handle)])),
]

/** Sends what the handler returns. */
const answering =
  (handle: PathHandle): PathHandle =>
  async (exchange, params) => {
    const answer = await handle(exchange, params)
    if (answer === hasAnswered) return
    // A snapshot that is restored sends events, which leave before the answer, as those of any write.
    if (exchange.info.method !== 'GET') await eventRounds.sent()
    sendJson(exchange, { status: 200, json: JSON.stringify(answer) })
  }

function handlesOf(api: ApiContext, path: string, methods: Readonly<Record<string, Operation>>): HandlesByMethod {
  const { shared } = api.instruments
  const handle =
    (method: string, operation: Operation): PathHandle =>
    (exchange, params) => {
      const left = new AbortController()
      exchange.onClose(() => left.abort())
      const wanted = { query: exchange.info.query, params, body: () => readJson(exchange), signal: left.signal }
      return shared ? shared.carryOut(path, method, wanted, operation) : operation(wanted)
    }
  return Object.fromEntries(Object.entries(methods).map(([method, one]) => [method, handle(method, one)]))
}

/** Streams one JSON line for each entry when it begins and when it ends, until the client leaves. */
async function followJournal(api: ApiContext, exchange: Exchange): Promise<typeof hasAnswered> {
  const { journal, shared } = api.instruments
  const filter = filterOf(exchange.info.query)
  const unfollow = await shared?.follow()
  const response = exchange.takeOver()
  response.writeHead(200, { ...baseHeaders(), 'content-type': 'application/json' })
  response.flushHeaders()
  const leave = journal.listen((entry) => {
    if (isMeant(filter, entry)) response.write(`${JSON.stringify(entry)}\n`)
    if (response.writableLength > maxUnreadBytes) response.destroy()
  })
  exchange.onClose(() => {
    leave()
    unfollow?.()
  })
  return hasAnswered
}

/** A map of fields. Larger than an object may be: a snapshot holds many. */
async function readJson({ request }: Exchange): Promise<Record<string, unknown>> {
  const text = (await readBody(request, maxSnapshotBytes)).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw badRequest(`the body is not valid JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('the body must be a map of fields')
  return value as Record<string, unknown>
}
