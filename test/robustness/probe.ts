import type { KubeObject } from '../../shared/api/types.ts'
import type { Event } from './history.ts'
import { seenOf } from './objects.ts'
import { checkFromState, type FromState, type Selection, type State } from './selection.ts'
import type { Server } from './server.ts'
import { type OpenWatch, openWatch, type Transport } from './transports.ts'

/** How a watch begins that names no revision that was seen. */
export const starts = {
  none: '',
  '0': '&resourceVersion=0',
  sendInitialEvents: '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
} as const
export type Start = keyof typeof starts

const endOfInitialEvents = 'k8s.io/initial-events-end'

/** A watch that begins with what there is, at one server, until that ends. */
export class Probe {
  readonly #what: { transport: Transport; start: Start; selection: Selection; server: string }
  readonly #events: Event[] = []
  readonly #open: OpenWatch
  #at: { index: number; revision: number } | undefined
  #wrong: string | undefined

  constructor(server: Server, how: { transport: Transport; start: Start; selection: Selection }) {
    this.#what = { ...how, server: server.name }
    const path = `/api/v1/configmaps?watch=true&${how.selection.query}${starts[how.start]}`
    this.#open = openWatch(how.transport, server, path, {
      // A server that is being killed, or cut off, may refuse.
      onStatus: (status) => {
        if (status >= 400 && status < 500 && status !== 429) this.#wrong = `got ${status}`
      },
      onLine: (line) => this.#line(line),
    })
  }

  /** In words, what it told that is not so. `events`: all since `state`. */
  async check(events: readonly Event[], state: State): Promise<string[]> {
    this.#open.close()
    await this.#open.ended
    const { transport, start, selection, server } = this.#what
    const wrong = this.#wrong ?? this.#firstFit((told) => checkFromState(told, { events, state, selection }))
    const name = `${server}: a watch over ${transport} from ${start} with ${selection.query}`
    return wrong === undefined ? [] : [`${name} ${wrong}`]
  }

  /** Only a bookmark says where the initial events end; without one it is anywhere before the first other type. */
  #firstFit(check: (told: FromState) => string | undefined): string | undefined {
    const events = this.#events
    if (this.#what.start === 'sendInitialEvents') {
      // Cut off before the bookmark it has told nothing that is complete.
      if (!this.#at) return undefined
      const { index, revision } = this.#at
      return check({ initial: events.slice(0, index), later: events.slice(index), at: revision })
    }
    const other = events.findIndex(({ type }) => type !== 'ADDED')
    const longest = other === -1 ? events.length : other
    let wrong: string | undefined
    for (let length = longest; length >= 0; length--) {
      const found = check({ initial: events.slice(0, length), later: events.slice(length) })
      if (found === undefined) return undefined
      wrong ??= found
    }
    return wrong
  }

  #line(line: string): void {
    const { type, object } = JSON.parse(line) as { type: string; object: KubeObject & { code?: number } }
    if (type === 'ERROR') return
    const { namespace = '', name = '', annotations, resourceVersion } = object.metadata
    if (type === 'BOOKMARK') {
      if (annotations?.[endOfInitialEvents] === 'true')
        this.#at = { index: this.#events.length, revision: Number(resourceVersion) }
      return
    }
    this.#events.push({ type: type as Event['type'], namespace, key: name, object: seenOf({ ...object, kind: '' })! })
  }
}
