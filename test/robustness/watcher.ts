import type { KubeList, KubeObject } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { HttpsClient } from './client.ts'
import type { Event, Gap, Told } from './history.ts'
import { seenOf, stateOf } from './objects.ts'
import type { Selection } from './selection.ts'
import type { Server } from './server.ts'
import { type OpenWatch, openWatch, type Transport } from './transports.ts'

const pauseMs = 50

interface WatchLine {
  type: string
  object: KubeObject & { code?: number; message?: string }
}

interface How {
  transport: Transport
  /** Default: all. */
  selection?: Selection
}

/** Watches ConfigMaps and, whenever a stream ends, goes on at the next of its servers after the last revision it has seen. */
export class Watcher {
  readonly #servers: readonly Server[]
  #turn = 0
  /** Since the last `take`. */
  #events: Event[] = []
  /** All events up to it were received. */
  resourceVersion: number
  /** Streams that it has opened. */
  streams = 0
  /** How often it has listed again. */
  relisted = 0
  readonly #gaps: Gap[] = []
  /** A server has said 410: what came next is forgotten. */
  isExpired = false
  /** Where it lists again after that, as a client does. Absent: it ends. */
  readonly #lists: HttpsClient | undefined
  /** Why the guarantee of a watch did not hold. */
  readonly violations: string[] = []
  #isClosed = false
  #open: OpenWatch | undefined
  readonly #how: How
  readonly #running: Promise<void>

  constructor(
    servers: readonly Server[],
    resourceVersion: number,
    { lists, ...how }: Partial<How> & { lists?: HttpsClient } = {},
  ) {
    this.#how = { transport: 'HTTP/1.1', ...how }
    this.#lists = lists
    this.#servers = servers
    this.resourceVersion = resourceVersion
    this.#running = this.#run()
  }

  /** It was told 410, and does not list again. */
  get hasEnded(): boolean {
    return this.isExpired && !this.#lists
  }

  /** That of the present stream. */
  get server(): Server {
    return this.#servers[this.#turn % this.#servers.length]!
  }

  /** Ends the present stream. */
  reopen(): void {
    this.#open?.close()
  }

  /** What it has told since the last call. */
  take(): Told {
    const taken = { events: this.#events, gaps: this.#gaps.splice(0) }
    this.#events = []
    return taken
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#open?.close()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      await this.#stream()
      if (this.isExpired && !(await this.#listAgain())) return
      this.#turn++
      if (!this.#isClosed) await realClock.sleep(pauseMs)
    }
  }

  /** Whether the server has answered, so that a watch may go on there. */
  async #listAgain(): Promise<boolean> {
    if (!this.#lists) return false
    const query = this.#how.selection ? `?${this.#how.selection.query}` : ''
    const reply = await this.#lists.send(this.server, { method: 'GET', path: `/api/v1/configmaps${query}` })
    // It goes on with a stream, is told 410 once more, and comes back.
    if (reply?.status !== 200) return true
    const { metadata, items } = reply.body as KubeList
    const to = Number(metadata.resourceVersion)
    if (to < this.resourceVersion) this.#isBehind('a list', to)
    const state = stateOf(items)
    this.#gaps.push({ after: this.resourceVersion, to, state })
    this.resourceVersion = to
    this.isExpired = false
    this.relisted++
    return true
  }

  /** Resolves when the stream has ended, for whatever reason. */
  async #stream(): Promise<void> {
    const { transport, selection } = this.#how
    const selects = selection ? `&${selection.query}` : ''
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${this.resourceVersion}${selects}`
    this.#open = openWatch(transport, this.server, `/api/v1/configmaps?${query}`, {
      onStatus: (status) => {
        if (status === 200) this.streams++
        if (status === 410) this.#expired(`a watch from ${query} got 410`)
      },
      onLine: (line) => this.#line(line),
    })
    await this.#open.ended
  }

  #line(line: string): void {
    const { type, object } = JSON.parse(line) as WatchLine
    if (type === 'ERROR') {
      if (object.code === 410) this.#expired(`after ${this.resourceVersion}: ${object.message}`)
      return
    }
    const resourceVersion = Number(object.metadata.resourceVersion)
    if (type === 'BOOKMARK') {
      if (resourceVersion < this.resourceVersion) this.#isBehind(type, resourceVersion)
      this.resourceVersion = Math.max(this.resourceVersion, resourceVersion)
      return
    }
    if (resourceVersion <= this.resourceVersion) this.#isBehind(type, resourceVersion)
    this.resourceVersion = resourceVersion
    const { namespace = '', name = '' } = object.metadata
    this.#events.push({ type: type as Event['type'], namespace, key: name, object: seenOf({ ...object, kind: '' })! })
  }

  #expired(why: string): void {
    this.isExpired = true
    if (!this.#lists) this.violations.push(`${this.server.name}: ${why}`)
  }

  #isBehind(type: string, resourceVersion: number): void {
    this.violations.push(`${this.server.name}: ${type} of ${resourceVersion} came after ${this.resourceVersion}`)
  }
}
