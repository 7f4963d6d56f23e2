import { networkInterfaces } from 'node:os'
import { fromSelectorObject, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import type { Pod, Service } from '../../shared/api/types.ts'
import type { Deployment, EndpointSlice } from '../../shared/api/workloads/workloads.ts'
import type { ObjectRef } from '../../shared/client/client.ts'
import { type Informer, startInformer } from '../../shared/client/informer.ts'
import { deployments, endpointSlices, pods, services } from '../../shared/client/resources.ts'
import type { ServerClient } from '../../shared/client/rest-client.ts'
import type { Clock, Timer } from '../../shared/clock/clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import { chosen, type Endpoint, type Here, podEndpoints, sliceEndpoints } from './endpoints.ts'
import { podPort, servicePort, type TargetName } from './target.ts'

export interface FollowOptions {
  client: ServerClient
  /** The cluster's: news takes so long in its time. */
  clock: Clock
  /** Holds the URL of the API server. */
  server: string
  namespace: string
  target: TargetName
  port: string
  /** Sets how long clients do not know of a change. */
  delayMs: number
}

/** Resolves the endpoints of a target from objects that are held; throws a ConfigError for a port that is not there. */
type Look = (podsThere: Informer<Pod>, slices: Informer<EndpointSlice> | undefined, here: Here) => Endpoint[]

/** The pods that clients of a target know of, as it changes. */
export class Endpoints {
  /** The name that clients use. */
  readonly host: string
  #known: Endpoint[] = []
  /** Holds the endpoints of the API, before clients hear of them. */
  #now: Endpoint[] = []
  #turn = 0
  /** Zero before the first request, which goes to the pods that there are by then. */
  #delayMs = 0
  #last = ''
  #isBegun = false
  #changed = Promise.withResolvers<void>()
  #failure: unknown
  readonly #timers = new Set<Timer>()
  readonly #pods: Informer<Pod>
  readonly #slices: Informer<EndpointSlice> | undefined
  readonly #options: FollowOptions
  readonly #look: Look
  readonly #here: Here

  private constructor(options: FollowOptions, { host, look, isService }: Resolved) {
    this.host = host
    this.#options = options
    this.#look = look
    const addresses = Object.values(networkInterfaces()).flatMap((of = []) => of.map(({ address }) => address))
    this.#here = { server: new URL(options.server).hostname, addresses: new Set(addresses) }
    const { client, namespace, target } = options
    const news = (): void => this.#see()
    const handlers = [{ onAdd: news, onUpdate: news, onDelete: news }]
    const common = { client, clock: realClock }
    this.#pods = startInformer<Pod>({ ...common, resource: pods, selection: { namespace }, transform: trim, handlers })
    const labelSelector = `kubernetes.io/service-name=${target.name}`
    const selection = { namespace, labelSelector }
    this.#slices = isService
      ? startInformer<EndpointSlice>({ ...common, resource: endpointSlices, selection, handlers })
      : undefined
  }

  /** Resolves when the API has told what there is. Throws a StatusError or a ConfigError for a target without ports. */
  static async follow(options: FollowOptions): Promise<Endpoints> {
    const endpoints = new Endpoints(options, await resolve(options))
    await Promise.all([endpoints.#pods.synced(), endpoints.#slices?.synced()])
    endpoints.#isBegun = true
    endpoints.#see()
    if (endpoints.#failure === undefined) return endpoints
    await endpoints.close()
    throw endpoints.#failure
  }

  /** Counts the pods that clients know of. */
  get size(): number {
    return this.#known.length
  }

  /** The next one in turn; undefined while clients know of none. */
  next(): Endpoint | undefined {
    return this.#known[this.#turn++ % Math.max(1, this.#known.length)]
  }

  /** Returns whether the pod still exists, and is terminating. */
  isEnding({ uid, pod: name }: Pick<Endpoint, 'uid' | 'pod'>): boolean {
    const pod = this.#pods.get({ namespace: this.#options.namespace, name })
    return pod?.metadata.uid === uid && pod.metadata.deletionTimestamp !== undefined
  }

  /**
   * Resolves when clients know of a pod, or the signal aborts; from then on they hear late of changes. Throws what
   * {@link follow} throws.
   */
  async some(signal: AbortSignal): Promise<void> {
    while (this.#known.length === 0 && !signal.aborted) {
      const aborted = Promise.withResolvers<void>()
      const leave = (): void => aborted.resolve()
      signal.addEventListener('abort', leave, { once: true })
      await Promise.race([this.#changed.promise, aborted.promise])
      signal.removeEventListener('abort', leave)
      if (this.#failure) throw this.#failure
    }
    this.#delayMs = this.#options.delayMs
  }

  /** Says why clients know of no pod. */
  whyNone(): string {
    const elsewhere = this.#now.flatMap(({ elsewhere }) => elsewhere ?? [])
    if (elsewhere.length > 0)
      return `the addresses of its pods are reached on their own machines only (${elsewhere[0]}): run kubestage load there`
    if (this.#now.length > 0) return `none of its ${this.#now.length} pods is Ready`
    return this.#slices
      ? 'its EndpointSlices have no pod: compare its selector and target port with its pods'
      : 'no pod runs'
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel()
    await Promise.all([this.#pods.close(), this.#slices?.close()])
  }

  #see(): void {
    if (!this.#isBegun) return
    try {
      this.#now = this.#look(this.#pods, this.#slices, this.#here)
    } catch (error) {
      this.#failure = error
      this.#changed.resolve()
      return
    }
    const next = chosen(this.#now)
    const key = next.map(({ uid, address, port }) => `${uid} ${address} ${port}`).join()
    if (key === this.#last) return
    this.#last = key
    if (this.#delayMs === 0) this.#learn(next)
    else this.#learnLater(next)
  }

  #learnLater(next: Endpoint[]): void {
    const timer = this.#options.clock.setTimer(this.#delayMs, () => {
      this.#timers.delete(timer)
      this.#learn(next)
    })
    this.#timers.add(timer)
  }

  #learn(next: Endpoint[]): void {
    this.#known = next
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }
}

interface Resolved {
  host: string
  isService: boolean
  look: Look
}

async function resolve({ client, namespace, target, port }: FollowOptions): Promise<Resolved> {
  const { kind, name } = target
  const ref = { namespace, name }
  if (kind === 'service') {
    const service = await client.get<Service>(services, ref)
    const { name: portName, port: number } = servicePort(service, port)
    const podOf = (there: Informer<Pod>) => (pod: string) => there.get({ namespace, name: pod })
    return {
      host: `${name}.${namespace}.svc${number === 80 ? '' : `:${number}`}`,
      isService: true,
      look: (there, slices, here) => sliceEndpoints(slices!.list(), { portName, podOf: podOf(there), here }),
    }
  }
  const isMeant = kind === 'pod' ? await isNamed(client, ref) : await isOf(client, ref)
  return {
    host: '',
    isService: false,
    look: (there, _slices, here) =>
      podEndpoints([...there.list()].filter(isMeant), { portOf: (pod) => podPort(pod, port), here }),
  }
}

async function isNamed(client: ServerClient, ref: Required<ObjectRef>): Promise<(pod: Pod) => boolean> {
  await client.get<Pod>(pods, ref)
  return ({ metadata }) => metadata.name === ref.name
}

async function isOf(client: ServerClient, ref: Required<ObjectRef>): Promise<(pod: Pod) => boolean> {
  const { spec } = await client.get<Deployment>(deployments, ref)
  const selector = fromSelectorObject(spec?.selector)
  if (!selector) throw new ConfigError(`Deployment ${ref.name} selects no pods`)
  return ({ metadata }) => matchesLabels(selector, metadata.labels)
}

const trim = ({ metadata, spec, status }: Pod): Pod => ({
  metadata: { ...metadata, managedFields: undefined, annotations: undefined },
  spec,
  status,
})
