import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { urlToHttpOptions } from 'node:url'
import type { KubeObject } from '../../shared/api/types.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { Event } from './history.ts'
import { seenOf } from './objects.ts'
import type { Server } from './server.ts'

const pauseMs = 50

interface WatchLine {
  type: string
  object: KubeObject & { code?: number; message?: string }
}

/** Watches all ConfigMaps at one server and, whenever that ends, goes on after the last revision it has seen. */
export class Watcher {
  readonly server: Server
  /** Since the last `take`. */
  #events: Event[] = []
  /** All events up to it were received. */
  resourceVersion: number
  /** Streams that it has opened. */
  streams = 0
  /** Why the guarantee of a watch did not hold. */
  readonly violations: string[] = []
  #isClosed = false
  #request: ClientRequest | undefined
  readonly #running: Promise<void>

  constructor(server: Server, resourceVersion: number) {
    this.server = server
    this.resourceVersion = resourceVersion
    this.#running = this.#run()
  }

  /** The events since the last call. */
  take(): Event[] {
    const taken = this.#events
    this.#events = []
    return taken
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#request?.destroy()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      await this.#stream()
      if (!this.#isClosed) await realClock.sleep(pauseMs)
    }
  }

  /** Resolves when the stream has ended, for whatever reason. */
  async #stream(): Promise<void> {
    const { ca, cert, key } = this.server.access
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${this.resourceVersion}`
    const { promise, resolve } = Promise.withResolvers<void>()
    const url = new URL(`${this.server.url}/api/v1/configmaps?${query}`)
    this.#request = request({ ...urlToHttpOptions(url), agent: false, ca, cert, key }, (response) => {
      if (response.statusCode === 200) this.streams++
      if (response.statusCode === 410) this.violations.push(`${this.server.name}: a watch from ${query} got 410`)
      if (response.statusCode !== 200) response.resume()
      else this.#lines(response)
      response.on('error', () => {}).on('close', resolve)
    })
    this.#request.on('error', () => resolve()).end()
    await promise
  }

  /** What follows the last line break when a stream is cut is no event. */
  #lines(response: IncomingMessage): void {
    let rest = ''
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#line(line)
    })
  }

  #line(line: string): void {
    const { type, object } = JSON.parse(line) as WatchLine
    if (type === 'ERROR') {
      if (object.code === 410)
        this.violations.push(`${this.server.name}: after ${this.resourceVersion}: ${object.message}`)
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

  #isBehind(type: string, resourceVersion: number): void {
    this.violations.push(`${this.server.name}: ${type} of ${resourceVersion} came after ${this.resourceVersion}`)
  }
}
