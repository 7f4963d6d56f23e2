/** One of the two nodes: the cluster that it belongs to, and what happens to its pods. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Event, KubeObject, Namespace, Pod, WatchEvent } from '../../../shared/api/types.ts'
import type { Client, Resource } from '../../../shared/client/client.ts'
import { loadKubeconfig } from '../../../shared/client/kubeconfig.ts'
import { events, namespaces, nodes, pods, serviceAccounts } from '../../../shared/client/resources.ts'
import { createRestClient } from '../../../shared/client/rest-client.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { startTestCluster } from '../../../test/harness/cluster.ts'

export const namespace = 'random-pods'

export interface Listener {
  pod(change: WatchEvent<Pod>): void
  event(event: Event): void
}

export class PodNode {
  readonly client: Client
  readonly name: string
  readonly #listeners = new Map<string, Listener>()
  readonly #ending = new AbortController()

  private constructor(client: Client, name: string) {
    this.client = client
    this.name = name
  }

  /** Takes the only node of the cluster that the kubeconfig names. */
  static async of(kubeconfig: string): Promise<PodNode> {
    const access = await loadKubeconfig(kubeconfig)
    const client = createRestClient({ ...access, clock: realClock, userAgent: 'differential', maxRequests: 64 })
    const [first] = (await client.list(nodes)).items
    if (!first) throw new Error(`${access.server} has no node`)
    const node = new PodNode(client, first.metadata.name!)
    await node.#prepare()
    return node
  }

  /** Tells the listener of the pod of this name from now on; the answer ends that. */
  listen(pod: string, listener: Listener): () => void {
    this.#listeners.set(pod, listener)
    return () => void this.#listeners.delete(pod)
  }

  async close(): Promise<void> {
    this.#ending.abort()
    await this.client.close()
  }

  async #prepare(): Promise<void> {
    const made = (error: unknown): void => {
      if ((error as { code?: number }).code !== 409) throw error
    }
    await this.client.create<Namespace>(namespaces, { metadata: { name: namespace } }).catch(made)
    await this.client.create(serviceAccounts, { metadata: { name: 'default' } }, { namespace }).catch(made)
    await this.#follow<Pod>(pods, (change) => this.#listeners.get(change.object.metadata.name!)?.pod(change))
    await this.#follow<Event & KubeObject>(events, ({ type, object }) => {
      if (type !== 'DELETED') this.#listeners.get(object.involvedObject.name ?? '')?.event(object)
    })
  }

  /** Begins behind what exists; a watch that ends is resumed where it ended. */
  async #follow<T extends KubeObject | Pod>(resource: Resource, tell: (change: WatchEvent<T>) => void): Promise<void> {
    const { signal } = this.#ending
    const list = await this.client.list<T>(resource, { namespace })
    let { resourceVersion } = list.metadata
    void (async () => {
      while (!signal.aborted) {
        try {
          for await (const change of this.client.watch<T>(resource, { namespace, resourceVersion, signal })) {
            resourceVersion = change.object.metadata.resourceVersion
            tell(change)
          }
        } catch (error) {
          if (!signal.aborted) console.error(`watch of ${resource.plural} at ${this.name}: ${String(error)}`)
        }
        await wait(100)
      }
    })()
  }
}

/** Starts a cluster of ours as the recordings of a real kubelet need it; with `slow` it starts containers late. */
export async function startOurNode({ slow = false } = {}): Promise<{ node: PodNode; stop(): Promise<void> }> {
  const endings: (() => unknown)[] = []
  const test = { teardown: (end: () => unknown) => void endings.push(end) }
  const flags = ['--network=pod', '--feature-gates=PodTerminationReason=false', '--pull-images=all']
  if (slow) process.env.NODE_OPTIONS = `--import=${new URL('slow-kubelet.ts', import.meta.url).href}`
  const { kubeconfig } = await startTestCluster(test, ...flags)
  delete process.env.NODE_OPTIONS
  const node = await PodNode.of(kubeconfig)
  return {
    node,
    async stop() {
      await node.close()
      for (const end of endings.reverse()) await end()
    },
  }
}
