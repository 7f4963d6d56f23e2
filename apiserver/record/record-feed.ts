import { tooManyRequests } from '../../shared/api/status/status-errors.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import {
  type RecordedRequest,
  type RecordLine,
  recordedResources,
  recordFormat,
  recordVersion,
} from '../../shared/record/format.ts'
import type { Journal, JournalEntry } from '../instruments/journal.ts'
import type { WatchCache } from '../watchcache/index.ts'
import { addedLines } from './added-lines.ts'
import type { Past } from './past-lines.ts'
import type { TextOf } from './record-encoder.ts'
import { historyOf } from './record-history.ts'
import { RecordListener, type RecordStream } from './record-listener.ts'

/** Bounds the readers of one API server. */
const maxListeners = 32

/** Lines of clients that are kept for readers that come later: the newest. */
const keptLimits = { lines: 4_000, letters: 1024 * 1024 }
/** Bounds the past requests, if the journal keeps any. */
const maxPastRequests = 10_000

export interface RecordSource {
  clock: Clock
  journal: Journal
  /** Returns the caches of those kinds that are served, by their names, such as `deployments.apps`. */
  cachesOf(names: readonly string[]): WatchCache[]
  textOf: TextOf
}

/** The feed sends a server's record to its listeners. Without a listener it watches nothing. */
export class RecordFeed {
  readonly #source: RecordSource
  readonly #listeners = new Set<RecordListener>()
  #leaveJournal: (() => void) | undefined
  #pending = ''
  readonly #kept: { line: RecordLine; letters: number }[] = []
  #keptLetters = 0

  constructor(source: RecordSource) {
    this.#source = source
  }

  /** Throws a StatusError (429) if there are too many listeners. */
  checkRoom(): void {
    if (this.#listeners.size < maxListeners) return
    throw tooManyRequests(`${maxListeners} clients read the record already: end one of them`, 10, [])
  }

  /** Writes the record to the response until that is closed. Its head is sent already. */
  follow(response: RecordStream, title: string, { history = false } = {}): void {
    const { clock, journal, textOf } = this.#source
    const caches = this.#source.cachesOf(recordedResources)
    const listener = new RecordListener({ response, caches, textOf, clock })
    this.#listeners.add(listener)
    this.#leaveJournal ??= journal.listen((entry) => this.#note(entry))
    response.once('close', () => this.#leave(listener))
    const past = history ? this.#past(caches) : undefined
    const at = new Date(past?.startMs ?? clock.now()).toISOString()
    const writer = 'kubestage'
    listener.start({ type: 'HEADER', format: recordFormat, version: recordVersion, at, writer, title }, past)
  }

  /**
   * Adds LOAD and MARK lines of a client, given as lines of JSON. Returns how many there were. Throws a StatusError
   * (400, 422) for what is none.
   */
  addText(text: string): number {
    const lines = addedLines(text, new Date(this.#source.clock.now()).toISOString())
    this.add(lines)
    return lines.length
  }

  /** Tells all listeners, and keeps the lines for those that come later. */
  add(lines: readonly RecordLine[]): void {
    for (const line of lines) this.#keep(line)
    if (this.#listeners.size > 0) for (const line of lines) this.#push(line)
  }

  #keep(line: RecordLine): void {
    const letters = JSON.stringify(line).length
    this.#kept.push({ line, letters })
    this.#keptLetters += letters
    while (this.#kept.length > keptLimits.lines || this.#keptLetters > keptLimits.letters)
      this.#keptLetters -= this.#kept.shift()!.letters
  }

  #past(caches: readonly WatchCache[]): Past {
    const { clock, journal } = this.#source
    const history = historyOf(caches)
    const startMs = history.startMs ?? clock.now()
    const start = new Date(startMs).toISOString()
    const requests = journal.entries().slice(-maxPastRequests)
    const answered = requests.filter(({ code }) => code !== undefined).map(requestLine)
    const lines = [...this.#kept.map(({ line }) => line), ...answered].filter(({ at }) => at >= start)
    return { history, lines: lines.sort((a, b) => (a.at < b.at ? -1 : 1)), startMs }
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
