import type { Client } from '../../shared/client/client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { withinLimit } from '../../shared/clock/within-limit.ts'
import type { NetworkedPod, NodeNetwork, Served } from '../runtime/network/node-network.ts'
import { Updates } from '../runtime/network/updates.ts'
import { ClusterPolicies, factsOf } from './cluster-policies.ts'
import { isolationsOf, type PodFacts } from './isolation.ts'
import { policyRules } from './policy-rules.ts'

export interface PolicyEnforcerOptions {
  network: Pick<NodeNetwork, 'useRules' | 'pods' | 'beforeStart' | 'place'>
  client: Client
  clock: Clock
  /** The address at which pods find DNS. */
  dns: string
  warn(error: unknown, what: string): void
}

/** Changes in quick succession become one. */
const DELAY_MS = 20
/** A pod starts without its rules rather than never: where the API server or nft does not answer. */
const PREPARE_MS = 2_000
/** Labels by which policies of users mean the DNS of a cluster. */
const dnsPod = {
  namespace: 'kube-system',
  labels: { 'k8s-app': 'kube-dns' },
  ports: [
    { name: 'dns', protocol: 'UDP', port: 53 },
    { name: 'dns-tcp', protocol: 'TCP', port: 53 },
  ],
}

/** Keeps the rules of the node's network as NetworkPolicies are. */
export class PolicyEnforcer implements Served {
  readonly #options: PolicyEnforcerOptions
  readonly #known: ClusterPolicies
  readonly #updates: Updates
  #isClosed = false
  #last: string | undefined
  #changed = Promise.withResolvers<void>()
  /** Holds who waits for rules that follow from all that is known now. */
  #waiting: (() => void)[] = []

  constructor(options: PolicyEnforcerOptions) {
    this.#options = options
    const { network, clock, warn } = options
    this.#updates = new Updates({
      clock,
      delayMs: DELAY_MS,
      apply: () => this.#apply(),
      onFailure: (error) => warn(error, 'NetworkPolicies are not enforced: that needs nft of the package nftables'),
    })
    const onError = (error: unknown): void => warn(error, 'NetworkPolicies could not be watched')
    this.#known = new ClusterPolicies({ ...options, onError, onChange: () => this.#onChange() })
    network.beforeStart((pod) => this.#prepare(pod))
    this.#updates.request()
  }

  close(): void {
    this.#isClosed = true
    this.#options.network.beforeStart(async () => {})
    this.#updates.close()
    this.#changed.resolve()
    void this.#known.close()
  }

  #onChange(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
    this.#updates.request()
  }

  /** A pod that starts is ruled by the policies that are there. */
  async #prepare(pod: NetworkedPod): Promise<void> {
    await withinLimit(this.#ruled(pod), PREPARE_MS, this.#options.clock.machine)
  }

  async #ruled(pod: NetworkedPod): Promise<void> {
    await this.#known.synced()
    if (this.#known.policies.length === 0) return
    const isAwaited = () => !this.#isClosed && this.#options.network.pods.has(pod.ip)
    while (isAwaited() && !this.#known.pod(pod)) await this.#changed.promise
    if (!isAwaited()) return
    const applied = Promise.withResolvers<void>()
    this.#waiting.push(applied.resolve)
    this.#updates.request()
    await applied.promise
  }

  async #apply(): Promise<void> {
    await this.#known.synced().catch(() => {})
    if (this.#isClosed) return
    const waiting = this.#waiting.splice(0)
    const rules = this.#rules()
    try {
      if (rules !== this.#last) await this.#options.network.useRules('policies', rules)
      this.#last = rules
    } catch (error) {
      // Without policies there is nothing to enforce, and no nft has left anything that was to go.
      if (this.#known.policies.length > 0) throw error
    } finally {
      for (const resolve of waiting) resolve()
    }
  }

  #rules(): string {
    const { network, dns } = this.#options
    const { policies } = this.#known
    const { node = '', machine = '' } = network.place ?? {}
    const pods = policies.length > 0 ? [...this.#pods(), { ...dnsPod, ip: dns }] : []
    const isolations = isolationsOf({
      policies,
      pods,
      namespace: (name) => this.#known.namespaceLabels(name),
      isOwn: (ip) => network.pods.has(ip),
    })
    return policyRules(isolations, [node, machine])
  }

  /** The node's own are known before the API knows their addresses, which other pods may have had before. */
  *#pods(): IterableIterator<PodFacts> {
    const { network } = this.#options
    for (const own of network.pods.values()) {
      const pod = this.#known.pod(own)
      if (pod) yield factsOf(pod, own.ip)
    }
    for (const pod of this.#known.pods()) {
      const { podIP, phase } = pod.status ?? {}
      if (podIP && !network.pods.has(podIP) && phase !== 'Succeeded' && phase !== 'Failed') yield factsOf(pod, podIP)
    }
  }
}
