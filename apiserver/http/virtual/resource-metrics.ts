/** Answers for `metrics.k8s.io`: what nodes and pods use now. */
import { matchesFields } from '../../../shared/api/selectors/field-selector.ts'
import { matchesLabels } from '../../../shared/api/selectors/label-selector.ts'
import { notFound } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject, Node, ObjectMeta, Pod } from '../../../shared/api/types.ts'
import type { ApiContext } from '../api-context.ts'
import type { ResourceExchange } from '../exchange.ts'
import type { Handler } from '../handler.ts'
import { parseListOptions } from '../options/list-options.ts'
import { nodeMetrics, type Owner, podMetrics } from '../usage/pod-metrics.ts'
import { sendVirtual, sendVirtualList } from './virtual-answers.ts'

const nodes = { group: '', plural: 'nodes' }
const pods = { group: '', plural: 'pods' }

export const listNodeMetrics: Handler = async (api, asked) => {
  const wanted = selected<Node>(api.registry.lookupAll(nodes), asked)
  sendVirtualList(api, asked, await metricsOfNodes(api, wanted))
}

export const getNodeMetrics: Handler = async (api, asked) => {
  const { name = '' } = asked.target
  const node = api.registry.lookup(nodes, undefined, name) as Node | undefined
  const [metrics] = node ? await metricsOfNodes(api, [node]) : []
  if (!metrics) throw notFound(asked.definition, name)
  sendVirtual(api, asked, metrics)
}

export const listPodMetrics: Handler = async (api, asked) => {
  const wanted = selected<Pod>(api.registry.lookupAll(pods, asked.target.namespace), asked)
  sendVirtualList(api, asked, await metricsOfPods(api, wanted))
}

export const getPodMetrics: Handler = async (api, asked) => {
  const { namespace = '', name = '' } = asked.target
  const pod = api.registry.lookup(pods, namespace, name) as unknown as Pod | undefined
  const [metrics] = pod ? await metricsOfPods(api, [pod]) : []
  if (!metrics) throw notFound(asked.definition, `${namespace}/${name}`)
  sendVirtual(api, asked, metrics)
}

function selected<T extends { metadata: ObjectMeta }>(
  objects: Iterable<KubeObject>,
  { exchange, definition }: ResourceExchange,
): T[] {
  const { labels, fields } = parseListOptions(exchange.info.query, definition, false)
  const found: T[] = []
  for (const object of objects) {
    const { metadata } = object
    const fieldOf = (field: string): string => (field === 'metadata.name' ? metadata.name : metadata.namespace) ?? ''
    if (matchesLabels(labels, metadata.labels) && matchesFields(fields, fieldOf)) found.push(object as unknown as T)
  }
  return found
}

async function metricsOfNodes({ usage, clock }: ApiContext, wanted: readonly Node[]): Promise<KubeObject[]> {
  const measured = await usage.of(wanted)
  const nowMs = clock.now()
  return wanted.flatMap(({ metadata }) => {
    const found = measured.get(metadata.name ?? '')?.node
    return found ? [nodeMetrics(metadata, found, nowMs) as unknown as KubeObject] : []
  })
}

async function metricsOfPods(api: ApiContext, wanted: readonly Pod[]): Promise<KubeObject[]> {
  const running = wanted.filter((pod) => pod.status?.phase === 'Running')
  const names = new Set(running.map(({ spec }) => spec.nodeName ?? ''))
  const all = [...(api.registry.lookupAll(nodes) as Iterable<Node>)]
  api.usage.keep(new Set(all.map(({ metadata }) => metadata.name ?? '')))
  const measured = await api.usage.of(all.filter(({ metadata }) => names.has(metadata.name ?? '')))
  const owners = new Owners(api)
  const nowMs = api.clock.now()
  return running.flatMap((pod) => {
    const containers = measured.get(pod.spec.nodeName ?? '')?.pods.get(pod.metadata.uid ?? '')
    const metrics = podMetrics({ pod, measured: containers, owners: owners.of(pod.metadata), nowMs })
    return metrics ? [metrics as unknown as KubeObject] : []
  })
}

/** Upstream's kinds that have pods, and the kinds that have these. */
const plurals: Readonly<Record<string, string>> = {
  ReplicaSet: 'apps/replicasets',
  Deployment: 'apps/deployments',
  StatefulSet: 'apps/statefulsets',
  DaemonSet: 'apps/daemonsets',
  Job: 'batch/jobs',
  ReplicationController: '/replicationcontrollers',
}
/** A ReplicaSet and its Deployment; more are custom resources, which are not looked up. */
const mostOwners = 3

/** Finds what pods belong to, each object once for a request. */
class Owners {
  readonly #api: ApiContext
  readonly #running = new Map<string, Map<string, number>>()

  constructor(api: ApiContext) {
    this.#api = api
  }

  of(metadata: ObjectMeta): Owner[] {
    const runningPods = ({ uid = '' }: ObjectMeta): number => this.#runningIn(metadata.namespace ?? '').get(uid) ?? 0
    return this.#chain(metadata).map((owner) => ({
      metadata: owner,
      get runningPods() {
        return runningPods(owner)
      },
    }))
  }

  #chain(metadata: ObjectMeta): ObjectMeta[] {
    const found: ObjectMeta[] = []
    for (let next = this.#ownerOf(metadata); next && found.length < mostOwners; next = this.#ownerOf(next))
      found.push(next)
    return found
  }

  #ownerOf({ namespace, ownerReferences }: ObjectMeta): ObjectMeta | undefined {
    const reference = ownerReferences?.find(({ controller }) => controller)
    const [group = '', plural = ''] = plurals[reference?.kind ?? '']?.split('/') ?? []
    if (!reference || plural === '') return undefined
    const owner = this.#api.registry.lookup({ group, plural }, namespace, reference.name)
    return owner?.metadata.uid === reference.uid ? owner.metadata : undefined
  }

  /** Counts, for each UID of an owner, the pods of a namespace that run. Only a load that is shared needs it. */
  #runningIn(namespace: string): Map<string, number> {
    let counts = this.#running.get(namespace)
    if (counts) return counts
    counts = new Map()
    this.#running.set(namespace, counts)
    for (const pod of this.#api.registry.lookupAll(pods, namespace) as Iterable<unknown> as Iterable<Pod>) {
      if (pod.status?.phase !== 'Running' || pod.metadata.deletionTimestamp) continue
      for (const { uid = '' } of this.#chain(pod.metadata)) counts.set(uid, (counts.get(uid) ?? 0) + 1)
    }
    return counts
  }
}
