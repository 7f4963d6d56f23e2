import { askKubelet, type Question } from '../../../cli/access/ask-server.ts'
import type { Duration } from '../../../library/duration.ts'
import type { Cluster } from '../../../library/index.ts'
import { ignoreNotFound } from '../../../shared/api/status/status-error.ts'
import type { Termination } from '../../../shared/api/termination.ts'
import type { Container, Pod, PodSpec, PodTemplateSpec } from '../../../shared/api/types.ts'
import type { Client, Resource } from '../../../shared/client/client.ts'
import { namespaces, nodes, pods, serviceAccounts, terminations } from '../../../shared/client/resources.ts'
import { createRestClient } from '../../../shared/client/rest-client.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import type { Situation, Who } from '../../../shared/reasons/reason-table.ts'
import { isReady } from '../pods.ts'
import { until } from '../until.ts'

/** How many pods end, of which records are expected. `others`: those that end for other situations of the same owner. */
export interface Ended<W extends Who = Who> {
  pods: number
  others?: Partial<Record<Situation<W>, number>>
}
/** Brings a situation about in a namespace of its own, and resolves when it has taken effect. */
export type Act<W extends Who = Who> = (stage: Stage) => Promise<Ended<W>>
/** One for each row of the table: a row without one does not compile. */
export type Acts<W extends Who> = { [S in Situation<W>]: Act<W> }

export interface StageOptions {
  cluster: Cluster
  namespace: string
  /** The reason that a client's DELETE gives, where the situation has one. */
  given?: string
  /** What the container of each pod is; default: a program that runs until TERM. */
  main?: Partial<Container>
}

/** Keeps new pods from getting ready. */
export const neverReady: Partial<PodSpec> = { readinessGates: [{ conditionType: 'example.com/never' }] }

/** One namespace of a cluster, in which one situation is brought about. */
export class Stage {
  readonly cluster: Cluster
  readonly client: Client
  readonly namespace: string
  readonly given: string | undefined
  readonly #main: StageOptions['main']

  /** In a namespace that is made for it. */
  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options)
    await stage.client.create(namespaces, { metadata: { name: stage.namespace } })
    const ready = () => stage.get(serviceAccounts, 'default').catch(ignoreNotFound)
    await stage.until(ready, 'the service account of its pods')
    return stage
  }

  protected constructor({ cluster, namespace, given, main }: StageOptions) {
    this.cluster = cluster
    this.client = cluster.client
    this.namespace = namespace
    this.given = given
    this.#main = main
  }

  /** Of pods with the label `app`; each version is another template. */
  template(app: string, version = 1, spec: Partial<PodSpec> = {}, more: Partial<Container> = {}): PodTemplateSpec {
    const env = [...(this.#main?.env ?? []), { name: 'VERSION', value: String(version) }]
    const main = { name: 'main', image: 'busybox:1.37', command: ['sleep', '1000000'], ...this.#main, ...more, env }
    return {
      metadata: { labels: { app } },
      spec: { terminationGracePeriodSeconds: 5, ...spec, containers: [main] },
    }
  }

  create<T extends { metadata: object }>(resource: Resource, name: string, parts: Omit<T, 'metadata'>): Promise<T> {
    const object = { metadata: { namespace: this.namespace, name }, ...parts } as unknown as T
    return this.client.create<T>(resource, object, { namespace: this.namespace })
  }

  /** A pod of no controller; resolves when it is ready. */
  async pod(name: string, spec: Partial<PodSpec> = {}, main: Partial<Container> = {}): Promise<void> {
    const template = this.template(name, 1, spec, main)
    await this.client.create<Pod>(pods, { metadata: { namespace: this.namespace, name }, spec: template.spec! })
    const get = () => this.get<Pod>(pods, name)
    await this.until(async () => isReady(await get()), `pod ${name} to be ready`)
  }

  get = <T extends object>(resource: Resource, name: string): Promise<T> =>
    this.client.get<T>(resource, { namespace: this.namespace, name })

  async patch(resource: Resource, name: string, patch: object, subresource?: string): Promise<void> {
    await this.client.patch(resource, { namespace: this.namespace, name }, patch, { subresource })
  }

  /** With the reason that is given. */
  async delete(
    resource: Resource,
    name: string,
    propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background',
  ): Promise<void> {
    const reason = this.given && { reason: this.given }
    await this.client.delete(resource, { namespace: this.namespace, name }, { propagationPolicy, ...reason })
  }

  async pods(): Promise<Pod[]> {
    return (await this.client.list<Pod>(pods, { namespace: this.namespace })).items
  }

  async readyPods(): Promise<Pod[]> {
    return (await this.pods()).filter((pod) => isReady(pod) && !pod.metadata.deletionTimestamp)
  }

  async records(): Promise<Termination[]> {
    return (await this.client.list<Termination>(terminations, { namespace: this.namespace })).items
  }

  /** A node of the cluster, with a label by which pods of this stage can be put there. */
  async node(): Promise<{ name: string; selector: Record<string, string> }> {
    const { items } = await this.client.list(nodes)
    const name = items[0]?.metadata.name ?? ''
    const label = `example.com/${this.namespace}`
    await this.client.patch(nodes, { name }, { metadata: { labels: { [label]: 'here' } } })
    return { name, selector: { [label]: 'here' } }
  }

  /** Gives the node a taint for as long as `during` takes. */
  async tainted(node: string, effect: 'NoExecute' | 'NoSchedule', during: () => Promise<unknown>): Promise<void> {
    const set = (taints: object[] | null) =>
      this.client.patch(nodes, { name: node }, { spec: { taints } }, { type: 'merge' })
    await set([{ key: 'example.com/stage', effect }])
    try {
      await during()
    } finally {
      await set(null)
    }
  }

  /** As `kubectl drain` does. */
  async evict(name: string, deleteOptions?: { reason: string }): Promise<void> {
    const metadata = { namespace: this.namespace, name }
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions }
    const client = createRestClient({ ...this.cluster.access, clock: realClock })
    await client.create(pods, eviction, { ...metadata, subresource: 'eviction' }).finally(() => client.close())
  }

  /** As `kubestage node` does. */
  async askKubelet(node: string, question: Question): Promise<void> {
    await askKubelet(this.cluster.access, node, question)
  }

  /** Lets time pass until the condition holds. */
  until<Value>(condition: () => Promise<Value>, what: string, step: Duration = '1s'): Promise<NonNullable<Value>> {
    const look = async (): Promise<Value> => {
      const value = await condition()
      if (!value) await this.cluster.clock.advance(step)
      return value
    }
    return until(look, { what: `${what}, in ${this.namespace}` })
  }
}
