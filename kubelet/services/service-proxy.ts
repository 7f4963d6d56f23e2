import { isDeepStrictEqual } from 'node:util'
import type { LostRequests } from '../../shared/api/termination.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import { machineAddresses } from '../runtime/network/machine-addresses.ts'
import { type MachinePort, serveMachinePort } from '../runtime/network/machine-port.ts'
import type { NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { Updates } from '../runtime/network/updates.ts'
import type { ClusterServices } from './cluster-services.ts'
import { type HealthCheck, healthChecks, serveHealthCheck } from './health-checks.ts'
import { countsOf, LossCounter, relayedCounts } from './lost-requests.ts'
import { MachinePorts } from './machine-ports.ts'
import { nodeAddresses, type RuleNames, type RulesInput, rulesOf } from './rules.ts'
import { type ServicePort, servicePorts } from './service-ports.ts'
import { staleFlows } from './stale-flows.ts'
import { UserSpaceProxy } from './user-space-proxy.ts'

export interface ServiceProxyOptions {
  network: Pick<
    NodeNetwork,
    'bind' | 'connect' | 'forgetStale' | 'hasSctp' | 'listLost' | 'listSets' | 'place' | 'pods' | 'relay' | 'useRules'
  >
  clock: Clock
  events: Pick<EventRecorder, 'event'>
  nodeName: string
  services: ClusterServices
  /** Holds the range of cluster IPs, where it is known. */
  range?: string
  /** Delays what rules learn of changes, by these milliseconds. */
  lagMs: number
  /** Tells that cluster IPs are served now; it is called once. */
  onServed?(): void
  warn(error: unknown, what: string): void
}

/** Changes in quick succession become one. */
const DELAY_MS = 10
/** Between two attempts to get by without {@link UserSpaceProxy}. */
const RULES_AGAIN_MS = 60_000
/** Limits the Services that are remembered as reported; beyond it, all are reported again. */
const MOST_TOLD = 1_000
const USER_SPACE =
  'the kubelet itself passes on what goes to Services, which is slower: rules of the kernel need nft of the package nftables'

/** Keeps the rules of the node's network as the Services and their endpoints are. */
export class ServiceProxy implements Served {
  readonly #options: ServiceProxyOptions
  readonly #nodePorts: MachinePorts<MachinePort>
  readonly #healthPorts: MachinePorts<HealthCheck>
  /** Holds what balancers ask, by port. */
  #healthChecks = new Map<number, HealthCheck>()
  readonly #userSpace: UserSpaceProxy
  readonly #losses: LossCounter
  readonly #updates: Updates
  readonly #timers = new Set<Timer>()
  /** Holds the addresses of endpoints to which rules have led. */
  readonly #led = new Set<string>()
  readonly #gone = new Set<string>()
  #seen: ServicePort[] | undefined
  #isSeeing = false
  #wanted: ServicePort[] = []
  #applied: ServicePort[] = []
  #before: RuleNames | undefined
  #last = ''
  #hasRules = false
  #noRulesUntilMs = 0
  #hasSctp: boolean | undefined
  /** Holds the UIDs of Services of which an event has told. */
  readonly #told = new Set<string>()
  #isClosed = false

  constructor(options: ServiceProxyOptions) {
    this.#options = options
    const { network, warn } = options
    this.#nodePorts = new MachinePorts({
      ...options,
      // Rules of the node choose the endpoint.
      open: (wanted) =>
        serveMachinePort(options, wanted, () => ({ host: network.place?.node ?? '', port: wanted.port })),
      onFailure: (error) => warn(error, 'a node port is not served at the addresses of this machine'),
    })
    this.#healthPorts = new MachinePorts({
      ...options,
      open: ({ port }) => serveHealthCheck(port, () => this.#healthChecks.get(port)),
      onFailure: (error) => warn(error, 'a healthCheckNodePort is not served at the addresses of this machine'),
    })
    this.#userSpace = new UserSpaceProxy(options)
    const counts = () =>
      this.#hasRules ? options.network.listSets().then(countsOf) : options.network.listLost().then(relayedCounts)
    this.#losses = new LossCounter({ ...options, counts, isLed: (ip) => !this.#isClosed && this.#leadsTo(ip) })
    const { services, clock } = options
    this.#updates = new Updates({
      clock,
      apply: () => this.#apply(),
      onFailure: (error) => warn(error, 'cluster IPs of Services are not all served'),
    })
    services.synced().then(
      () => services.onChange(() => this.#changed()),
      () => {},
    )
  }

  close(): void {
    this.#isClosed = true
    this.#updates.close()
    for (const timer of this.#timers) timer.cancel()
    this.#nodePorts.close()
    this.#healthPorts.close()
    this.#userSpace.close()
  }

  /**
   * Resolves to the connections that were lost at a pod that has ended; that may be a while later, when no rule leads
   * there any more.
   */
  async lostAt(ip: string): Promise<LostRequests[]> {
    if (!this.#led.delete(ip)) return []
    if (!this.#leadsTo(ip)) return this.#losses.of(ip)
    this.#gone.add(ip)
    this.#updates.request()
    try {
      return await this.#losses.of(ip)
    } finally {
      // No rule leads there any more.
      if (this.#gone.delete(ip) && !this.#isClosed) this.#updates.request()
    }
  }

  #leadsTo(ip: string): boolean {
    return [...this.#wanted, ...this.#applied].some(({ endpoints }) => endpoints.some((end) => end.ip === ip))
  }

  #after(delayMs: number, act: () => void): void {
    if (this.#isClosed) return
    const { machine } = this.#options.clock
    const timer = machine.setTimer(
      delayMs,
      () => {
        this.#timers.delete(timer)
        act()
      },
      { background: true },
    )
    this.#timers.add(timer)
  }

  #changed(): void {
    if (this.#isSeeing) return
    this.#isSeeing = true
    this.#after(DELAY_MS, () => this.#see())
  }

  /** Each state is kept until it is its turn; the first one is not waited for. */
  #see(): void {
    const { services, network, nodeName, lagMs } = this.#options
    this.#isSeeing = false
    const checks = healthChecks(services, nodeName)
    this.#healthChecks = new Map(checks.map((check) => [check.port, check]))
    this.#healthPorts.serve(checks)
    const ports = servicePorts(services, { name: nodeName, machine: network.place?.machine ?? '' })
    const isFirst = this.#seen === undefined
    if (isDeepStrictEqual(ports, this.#seen)) return
    this.#seen = ports
    const want = (): void => {
      this.#wanted = ports
      this.#updates.request()
    }
    if (isFirst || lagMs === 0) want()
    else this.#after(lagMs, want)
  }

  async #apply(): Promise<void> {
    const { network, range, onServed } = this.#options
    const { place } = network
    if (!place) return
    const ports = this.#wanted
    for (const ip of this.#gone) if (network.pods.has(ip)) this.#gone.delete(ip)
    const input = { ports, place, machine: machineAddresses(), range, gone: [...this.#gone] }
    const described = JSON.stringify(input)
    if (described === this.#last) return
    try {
      await this.#rule(input)
      this.#userSpace.close()
    } catch (error) {
      if (this.#hasRules) throw error
      await this.#serveWithout(input, error as Error)
    }
    for (const { endpoints } of ports) for (const { ip } of endpoints) if (!this.#gone.has(ip)) this.#led.add(ip)
    if (this.#last === '') onServed?.()
    this.#applied = ports
    this.#last = described
    this.#nodePorts.serve(
      ports.flatMap(({ ip, protocol, port, endpoints }) =>
        ip === undefined && endpoints.length > 0 && protocol !== 'sctp' ? [{ protocol, port }] : [],
      ),
    )
    if (ports.some(({ protocol }) => protocol === 'sctp')) await this.#tellOfSctp()
  }

  async #rule(input: RulesInput): Promise<void> {
    const { network, clock } = this.#options
    if (clock.machine.monotonic() < this.#noRulesUntilMs) throw new Error('the kernel took no rules')
    const rules = rulesOf(input, this.#before)
    this.#before = undefined
    await network.useRules('services', rules.text)
    this.#hasRules = true
    this.#before = rules
    const stale = staleFlows(this.#applied, input.ports, nodeAddresses(input))
    if (stale.length > 0) await network.forgetStale(stale).catch(this.#staleStay)
  }

  /** Where the kernel has never taken rules, the kubelet passes traffic on; it tries rules again once in a while. */
  async #serveWithout({ ports, gone = [] }: RulesInput, error: Error): Promise<void> {
    const { clock, warn } = this.#options
    const now = clock.machine.monotonic()
    if (now >= this.#noRulesUntilMs) {
      if (this.#noRulesUntilMs === 0) warn(error, USER_SPACE)
      this.#noRulesUntilMs = now + RULES_AGAIN_MS
    }
    await this.#userSpace.serve(ports, gone)
  }

  /** An event tells of each Service whose ports of this protocol are not carried, once. */
  async #tellOfSctp(): Promise<void> {
    const { network, nodeName, services, events } = this.#options
    this.#hasSctp ??= this.#hasRules && (await network.hasSctp().catch(() => false))
    if (this.#hasSctp) return
    const why = this.#hasRules ? 'its kernel has no SCTP' : 'that needs nft of the package nftables'
    for (const { metadata, spec } of services.list()) {
      const { namespace, name = '', uid = '' } = metadata
      const own = (spec?.ports ?? []).filter(({ protocol }) => protocol === 'SCTP').map(({ port }) => port)
      if (own.length === 0 || this.#told.has(uid)) continue
      this.#told.add(uid)
      const message = `SCTP port ${own.join(', ')} is not served on node ${nodeName}: ${why}`
      events.event({ kind: 'Service', apiVersion: 'v1', namespace, name, uid }, 'Warning', 'ProtocolNotServed', message)
    }
    if (this.#told.size > MOST_TOLD) this.#told.clear()
  }

  /** The rules hold nevertheless. */
  #staleStay = (error: unknown): void =>
    this.#options.warn(error, 'datagrams of open exchanges still go to endpoints that are gone')
}
