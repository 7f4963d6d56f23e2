import type { NetworkPolicy } from '../../shared/api/services/network-policy.ts'
import type { Namespace, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { type Informer, startInformer } from '../../shared/client/informer.ts'
import { namespaces, networkPolicies, pods } from '../../shared/client/resources.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { CONFIG } from '../pod/static-pod.ts'
import type { NetworkedPod } from '../runtime/network/node-network.ts'
import type { PodFacts } from './isolation.ts'

export interface ClusterPoliciesOptions {
  client: Client
  clock: Clock
  onError(error: unknown): void
  onChange(): void
}

interface Peers {
  pods: Informer<Pod>
  namespaces: Informer<Namespace>
}

/** Knows the NetworkPolicies of the cluster; from the first on also the pods and namespaces that they may mean. */
export class ClusterPolicies {
  readonly #options: ClusterPoliciesOptions
  readonly #policies: Informer<NetworkPolicy>
  #peers: Peers | undefined

  constructor(options: ClusterPoliciesOptions) {
    this.#options = options
    const onPolicy = (): void => {
      this.#peers ??= this.#watchPeers()
      options.onChange()
    }
    const handlers = [{ onAdd: onPolicy, onUpdate: onPolicy, onDelete: onPolicy }]
    this.#policies = startInformer<NetworkPolicy>({ ...options, resource: networkPolicies, handlers })
  }

  /** Resolves when it is known whether there are policies, and which pods there are. */
  async synced(): Promise<void> {
    await this.#policies.synced()
    await Promise.all([this.#peers?.pods.synced(), this.#peers?.namespaces.synced()])
  }

  get policies(): NetworkPolicy[] {
    return [...this.#policies.list()]
  }

  pod({ namespace, name, podUid }: NetworkedPod): Pod | undefined {
    const found = this.#peers?.pods.get({ namespace, name })
    const { uid, annotations } = found?.metadata ?? {}
    return uid === podUid || annotations?.[CONFIG.mirror] === podUid ? found : undefined
  }

  *pods(): IterableIterator<Pod> {
    if (this.#peers) yield* this.#peers.pods.list()
  }

  namespaceLabels(name: string): Record<string, string> | undefined {
    return this.#peers?.namespaces.get({ name })?.metadata.labels
  }

  async close(): Promise<void> {
    await Promise.all([this.#policies.close(), this.#peers?.pods.close(), this.#peers?.namespaces.close()])
  }

  #watchPeers(): Peers {
    const { onChange } = this.#options
    const changedFrom = <T>(factsOf: (object: T) => unknown) => [
      {
        onAdd: onChange,
        onDelete: onChange,
        onUpdate(object: T, old: T) {
          if (JSON.stringify(factsOf(object)) !== JSON.stringify(factsOf(old))) onChange()
        },
      },
    ]
    return {
      pods: startInformer<Pod>({
        ...this.#options,
        resource: pods,
        selection: { fieldSelector: 'spec.hostNetwork=false' },
        transform: trimmed,
        handlers: changedFrom<Pod>(({ metadata, status }) => [metadata.labels, status]),
      }),
      namespaces: startInformer<Namespace>({
        ...this.#options,
        resource: namespaces,
        handlers: changedFrom<Namespace>(({ metadata }) => metadata.labels),
      }),
    }
  }
}

/** Leaves of a pod what policies ask for. */
function trimmed({ metadata, spec, status }: Pod): Pod {
  const { name, namespace, uid, resourceVersion, labels, annotations } = metadata
  const named = ({ name, ports }: { name: string; ports?: { name?: string }[] }) => ({
    name,
    ports: ports?.filter((port) => port.name !== undefined),
  })
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      labels,
      annotations: { [CONFIG.mirror]: annotations?.[CONFIG.mirror] },
    },
    spec: { containers: spec.containers.map(named), initContainers: spec.initContainers?.map(named) },
    status: { phase: status?.phase, podIP: status?.podIP },
  } as Pod
}

export const factsOf = ({ metadata, spec }: Pod, ip: string): PodFacts => ({
  namespace: metadata.namespace ?? '',
  labels: metadata.labels,
  ip,
  ports: [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol = 'TCP', containerPort }) =>
      name ? [{ name, protocol, port: containerPort }] : [],
    ),
  ),
})
