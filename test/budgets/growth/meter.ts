import type { ClientHttp2Session } from 'node:http2'
import type { ResourceDefinition } from '../../../apiserver/kind/resource-definition.ts'
import type { Request } from '../attack.ts'
import { Attacker } from '../attacker.ts'
import type { ServerProcess } from '../server-process.ts'

import { collectionPath, tableType } from './writes.ts'

/** A server in a process of its own, and what requests cost it. */
export class Meter {
  readonly #server: ServerProcess
  readonly #attacker: Attacker
  readonly #session: ClientHttp2Session

  constructor(server: ServerProcess) {
    this.#server = server
    this.#attacker = new Attacker(server.started)
    this.#session = this.#attacker.session('admin')
  }

  /** The code of the answer. */
  ask(request: Request): Promise<number> {
    return this.#attacker.request(this.#session, request)
  }

  /** Two watches of a kind, one of them as a table, until the function is called: writes cost what they cost with them. */
  watchKind(kind: ResourceDefinition): () => void {
    if (kind.virtual) return () => {}
    const path = `${collectionPath(kind)}?watch=1`
    const streams = [
      this.#session.request({ ':path': path }),
      this.#session.request({ ':path': `${path}&labelSelector=a!%3Db`, accept: tableType }),
    ]
    for (const stream of streams) stream.on('error', () => {}).resume()
    return () => {
      for (const stream of streams) stream.close()
    }
  }

  /** CPU time of the server for the requests, in milliseconds, and the codes of the answers. */
  async cost(requests: readonly Request[]): Promise<{ ms: number; codes: number[] }> {
    const codes: number[] = []
    const before = await this.#server.ask('usage')
    for (const request of requests) codes.push(await this.ask(request))
    const after = await this.#server.ask('usage')
    return { ms: after.cpuMs - before.cpuMs, codes }
  }

  leave(): void {
    this.#attacker.leave()
  }
}
