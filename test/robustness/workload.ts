import { realClock } from '../../shared/clock/real-clock.ts'
import { oneOf } from '../faults/random.ts'
import { HttpsClient, type Reply, type Request } from './client.ts'
import type { History, Input, Operation, Seen, Verb } from './history.ts'
import { dataOf, finalizer, seenOf } from './objects.ts'
import { parityOf } from './selection.ts'
import type { Server } from './server.ts'

/** Of one history. A key with many operations of unknown outcome takes long to check: then another takes its place. */
const keysAtOnce = 4
const operationsOfKey = 120
const lossesOfKey = 4
const pauseMs = 20

interface Key {
  name: string
  operations: number
  losses: number
}

/** How often each is chosen, by weight. */
const verbs: readonly (Verb | 'list')[] = [
  ...(['create', 'create', 'create', 'update', 'update', 'merge', 'merge', 'apply'] as const),
  ...(['delete', 'delete', 'get', 'get', 'get', 'list'] as const),
]

/** Clients that write and read few objects of one namespace at once, each one request at a time, at any of the servers. */
export class Workload {
  readonly history: History
  /** Requests that were answered, and such whose answer never came or was 5xx. */
  readonly counts = { answered: 0, lost: 0, refused: 0 }
  readonly #servers: readonly Server[]
  readonly #random: () => number
  readonly #keys: Key[] = []
  readonly #all: Key[] = []
  readonly #known = new Map<string, Seen>()
  /** Operations that each client has finished. */
  readonly progress: number[]
  #values = 0
  #isOver = false
  readonly #clients: HttpsClient[]
  readonly #running: Promise<unknown>

  constructor(servers: readonly Server[], namespace: string, random: () => number, clients = 6) {
    this.#servers = servers
    this.#random = random
    this.history = { namespace, operations: [], lists: [] }
    this.progress = Array.from({ length: clients }, () => 0)
    for (let index = 0; index < keysAtOnce; index++) this.#keys.push(this.#newKey())
    this.#clients = this.progress.map(() => new HttpsClient())
    this.#running = Promise.all(this.#clients.map((client, index) => this.#run(client, index)))
  }

  /** Lets no request begin any more; resolves when all have ended. */
  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  /** What each server says in the end of each object; after `stop`. */
  async readAll(): Promise<void> {
    for (const server of this.#servers) {
      for (const { name } of this.#all) await this.#object(this.#clients[0]!, 0, server, 'get', name)
      await this.#list(this.#clients[0]!, 0, server)
    }
    for (const client of this.#clients) client.close()
  }

  async #run(client: HttpsClient, index: number): Promise<void> {
    while (!this.#isOver) {
      const server = oneOf(this.#random, this.#servers)
      const verb = oneOf(this.#random, verbs)
      const slot = Math.floor(this.#random() * keysAtOnce)
      const isDone =
        verb === 'list'
          ? await this.#list(client, index, server)
          : await this.#object(client, index, server, verb, this.#keyAt(slot).name)
      if (isDone) this.progress[index]!++
      else await realClock.sleep(pauseMs)
    }
  }

  #keyAt(slot: number): Key {
    const key = this.#keys[slot]!
    if (key.operations < operationsOfKey && key.losses < lossesOfKey) return key
    this.#keys[slot] = this.#newKey()
    return this.#keys[slot]
  }

  #newKey(): Key {
    const key = { name: `object-${this.#all.length}`, operations: 0, losses: 0 }
    this.#all.push(key)
    return key
  }

  /** Resolves to whether it is known what became of it. */
  async #object(client: HttpsClient, index: number, server: Server, verb: Verb, name: string): Promise<boolean> {
    const input = this.#input(verb, name)
    if (!input) return true
    const reply = await client.send(server, this.#request(verb, name, input))
    if (!reply || reply.status === 429) {
      this.counts.refused++
      return false
    }
    const isLost = reply.status === undefined || reply.status >= 500
    if (isLost) this.counts.lost++
    else this.counts.answered++
    // A read whose answer is lost says nothing.
    if (!isLost || verb !== 'get') this.#record(index, verb, name, input, reply, isLost)
    return !isLost
  }

  #record(client: number, verb: Verb, name: string, input: Input, reply: Reply, isLost: boolean): void {
    const object = isLost ? undefined : seenOf(reply.body)
    const output = { ...(isLost && { isLost: true as const }), status: reply.status ?? 0, object }
    const operation: Operation = { client, verb, key: name, call: reply.call, return: reply.return, input, output }
    this.history.operations.push(operation)
    const key = this.#all.find((one) => one.name === name)!
    key.operations++
    if (isLost) key.losses++
    if (object) this.#known.set(name, object)
    else if (reply.status === 404) this.#known.delete(name)
  }

  /** Undefined for what makes no sense now. */
  #input(verb: Verb, name: string): Input | undefined {
    const known = this.#known.get(name)
    const value = `${name}-${this.#values++}`
    const isLikely = (share: number): boolean => this.#random() < share
    if (verb === 'get') return {}
    if (verb === 'create') return { value, finalizer: isLikely(0.3) }
    if (verb === 'apply') return { value }
    if (verb === 'update') {
      return known && { value, resourceVersion: known.resourceVersion, finalizer: known.hasFinalizer }
    }
    const precondition = known && isLikely(0.5) && { resourceVersion: known.resourceVersion }
    if (verb === 'merge') return { value, ...precondition, ...(isLikely(0.5) && { finalizer: false }) }
    return { ...precondition, ...(known && isLikely(0.5) && { uid: known.uid }) }
  }

  #request(verb: Verb, name: string, input: Input): Request {
    const path = `/api/v1/namespaces/${this.history.namespace}/configmaps`
    const own = `${path}/${name}`
    const { value = '', uid } = input
    const resourceVersion = input.resourceVersion === undefined ? undefined : `${input.resourceVersion}`
    const finalizers = input.finalizer === undefined ? undefined : input.finalizer ? [finalizer] : []
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, resourceVersion, finalizers, labels: { parity: parityOf(value) } },
      data: dataOf(value),
    }
    switch (verb) {
      case 'get':
        return { method: 'GET', path: own }
      case 'create':
        return { method: 'POST', path, body: object }
      case 'update':
        return { method: 'PUT', path: own, body: object }
      case 'merge':
        return { method: 'PATCH', path: own, body: object, contentType: 'application/merge-patch+json' }
      case 'apply': {
        const query = '?fieldManager=storm&force=true'
        return { method: 'PATCH', path: own + query, body: object, contentType: 'application/apply-patch+yaml' }
      }
      case 'delete':
        return { method: 'DELETE', path: own, body: { preconditions: { resourceVersion, uid } } }
    }
  }

  async #list(client: HttpsClient, index: number, server: Server): Promise<boolean> {
    const { namespace } = this.history
    const reply = await client.send(server, { method: 'GET', path: `/api/v1/namespaces/${namespace}/configmaps` })
    if (reply?.status !== 200) return false
    const { metadata, items } = reply.body as {
      metadata: { resourceVersion: string }
      items: { metadata: { name: string } }[]
    }
    this.counts.answered++
    this.history.lists.push({
      client: index,
      server: server.name,
      namespace,
      call: reply.call,
      return: reply.return,
      resourceVersion: Number(metadata.resourceVersion),
      items: new Map(items.map((item) => [item.metadata.name, seenOf(item)!])),
    })
    return true
  }
}
