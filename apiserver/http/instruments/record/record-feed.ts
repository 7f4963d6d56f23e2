import { tooManyRequests } from '../../../../shared/api/status-errors.ts'
import {
  type RecordedRequest,
  type RecordLine,
  recordedResources,
  recordFormat,
  recordVersion,
} from '../../../../shared/record/format.ts'
import type { JournalEntry } from '../../../instruments/journal.ts'
import type { ResourceDefinition } from '../../../kind/resource-definition.ts'
import type { ApiContext } from '../../api-context.ts'
import { RecordListener, type RecordStream } from './record-listener.ts'

/** Of one API server, at the same time. */
const maxListeners = 32

/** The record of a server, for its listeners. Without a listener it watches nothing. */
export class RecordFeed {
  readonly #api: ApiContext
  readonly #listeners = new Set<RecordListener>()
  #leaveJournal: (() => void) | undefined
  #pending = ''

  constructor(api: ApiContext) {
    this.#api = api
  }

  /** Throws a StatusError (429) if there are too many listeners. */
  checkRoom(): void {
    if (this.#listeners.size < maxListeners) return
    throw tooManyRequests(`${maxListeners} clients read the record already: end one of them`, 10, [])
  }

  /** Writes the record to the response until that is closed. Its head is sent already. */
  follow(response: RecordStream, title: string): void {
    const { registry, clock } = this.#api
    const listener = new RecordListener({
      response,
      definitions: definitionsOf(this.#api),
      cacheOf: (definition) => registry.cacheOf(definition),
      clock,
    })
    this.#listeners.add(listener)
    this.#leaveJournal ??= this.#api.instruments.journal.listen((entry) => this.#note(entry))
    response.once('close', () => this.#leave(listener))
    const at = new Date(clock.now()).toISOString()
    const writer = 'kubestage'
    listener.start({ type: 'HEADER', format: recordFormat, version: recordVersion, at, writer, title })
  }

  /** Tells all listeners. */
  add(lines: readonly RecordLine[]): void {
    if (this.#listeners.size > 0) for (const line of lines) this.#push(line)
  }

  #note(entry: JournalEntry): void {
    if (entry.code !== undefined) this.#push(requestLine(entry))
  }

  /** Lines of one turn of the event loop leave together. */
  #push(line: RecordLine): void {
    if (this.#pending === '') setImmediate(() => this.#flush())
    this.#pending += `${JSON.stringify(line)}\n`
  }

  #flush(): void {
    const lines = Buffer.from(this.#pending)
    this.#pending = ''
    for (const listener of this.#listeners) listener.send(lines)
  }

  #leave(listener: RecordListener): void {
    listener.close()
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    this.#leaveJournal?.()
    this.#leaveJournal = undefined
  }
}

/** Field by field: a copy of all but one field costs several times as much, and this runs for each request. */
const requestLine = (entry: JournalEntry): RecordedRequest => ({
  type: 'REQUEST',
  at: entry.at,
  verb: entry.verb,
  user: entry.user,
  path: entry.path,
  group: entry.group,
  resource: entry.resource,
  subresource: entry.subresource,
  namespace: entry.namespace,
  name: entry.name,
  userAgent: entry.userAgent,
  code: entry.code ?? 0,
  durationMs: entry.durationMs ?? 0,
  fault: entry.fault,
})

/** Events are recorded as those of the core group, which has the same objects. */
function definitionsOf({ catalog }: ApiContext): ResourceDefinition[] {
  const byName = new Map(
    catalog.definitions().map((one) => [one.group ? `${one.plural}.${one.group}` : one.plural, one]),
  )
  return recordedResources.flatMap((name) => byName.get(name) ?? [])
}

const feeds = new WeakMap<ApiContext, RecordFeed>()

export function feedOf(api: ApiContext): RecordFeed {
  const feed = feeds.get(api) ?? new RecordFeed(api)
  feeds.set(api, feed)
  return feed
}
