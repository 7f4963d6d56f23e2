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

/** Watches all ConfigMaps and, whenever a stream ends, goes on at the next of its servers after the last revision it has seen. */
export class Watcher {
  readonly #servers: readonly Server[]
  #turn = 0
  /** Since the last `take`. */
  #events: Event[] = []
  /** All events up to it were received. */
  resourceVersion: number
  /** Streams that it has opened. */
  streams = 0
  /** A server has said 410: what came next is forgotten, and a client would list again. */
  isExpired = false
  /** Why the guarantee of a watch did not hold. */
  readonly violations: string[] = []
  #isClosed = false
  #request: ClientRequest | undefined
  readonly #running: Promise<void>

  constructor(servers: readonly Server[], resourceVersion: number) {
    this.#servers = servers
    this.resourceVersion = resourceVersion
    this.#running = this.#run()
  }

  /** That of the present stream. */
  get server(): Server {
    return this.#servers[this.#turn % this.#servers.length]!
  }

  /** Ends the present stream. */
  reopen(): void {
    this.#request?.destroy()
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
    while (!this.#isClosed && !this.isExpired) {
      await this.#stream()
      this.#turn++
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
      if (response.statusCode === 410) this.#expired(`a watch from ${query} got 410`)
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
    this.violations.push(`${this.server.name}: ${why}`)
  }

  #isBehind(type: string, resourceVersion: number): void {
    this.violations.push(`${this.server.name}: ${type} of ${resourceVersion} came after ${this.resourceVersion}`)
  }
}
