import { realClock } from '../../shared/clock/real-clock.ts'
import { HttpsClient, microseconds, type Reply } from './client.ts'
import type { Server } from './server.ts'

/** The time for which a Service certainly has an address: from the answer to its create to the call of its delete. */
export interface Claim {
  ip: string
  service: string
  server: string
  from: number
  until: number
}

const pauseMs = 40
/** Deleted again, so that addresses come back. */
const deleteEach = 3

/** Pairs of clients that ask for the same cluster IP at the same time, at different servers where there are several. */
export class AddressLoad {
  readonly claims: Claim[] = []
  readonly #servers: readonly Server[]
  readonly #path: string
  readonly #random: () => number
  readonly #client = new HttpsClient()
  readonly #running: Promise<void>
  #isOver = false

  constructor(servers: readonly Server[], namespace: string, random: () => number) {
    this.#servers = servers
    this.#path = `/api/v1/namespaces/${namespace}/services`
    this.#random = random
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
    this.#client.close()
  }

  async #run(): Promise<void> {
    for (let index = 0; !this.#isOver; index++) {
      const ip = `10.96.${100 + Math.floor(this.#random() * 100)}.${1 + Math.floor(this.#random() * 250)}`
      const sides = [this.#servers[0]!, this.#servers.at(-1)!]
      await Promise.all(sides.map((server, side) => this.#create(server, `service-${index}-${side}`, ip)))
      const last = this.claims.at(-1)
      if (index % deleteEach === 0 && last?.until === Number.POSITIVE_INFINITY) await this.#delete(last)
      await realClock.sleep(pauseMs)
    }
  }

  async #create(server: Server, service: string, clusterIP: string): Promise<void> {
    const body = { metadata: { name: service }, spec: { clusterIP, ports: [{ port: 80 }] } }
    const reply = await this.#client.send(server, { method: 'POST', path: this.#path, body })
    if (reply?.status !== 201) return
    const { spec } = reply.body as { spec: { clusterIP: string } }
    const until = Number.POSITIVE_INFINITY
    this.claims.push({ ip: spec.clusterIP, service, server: server.name, from: reply.return, until })
  }

  async #delete(claim: Claim): Promise<Reply | undefined> {
    claim.until = microseconds()
    return await this.#client.send(this.#servers[0]!, { method: 'DELETE', path: `${this.#path}/${claim.service}` })
  }
}

/** No two Services have one address at the same time. */
export function checkAddresses(claims: readonly Claim[]): string[] {
  const violations: string[] = []
  const byIp = new Map<string, Claim>()
  for (const claim of [...claims].sort((a, b) => a.from - b.from)) {
    const before = byIp.get(claim.ip)
    if (before && before.until > claim.from)
      violations.push(
        `${claim.ip} was given to ${before.service} by ${before.server}, and to ${claim.service} by ${claim.server}`,
      )
    if (!before || claim.until > before.until) byIp.set(claim.ip, claim)
  }
  return violations
}
