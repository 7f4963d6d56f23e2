/** Nodes with images, and pods of services and workloads, which a scheduler spreads by default. Made from a number. */
import type { Node, Pod, Service } from '../../shared/api/types.ts'
import type { ReplicaSet, ReplicationController, StatefulSet } from '../../shared/api/workloads/workloads.ts'
import { type PlacementSituation, TEAMS } from './placement-situations.ts'
import { generator } from './preemption-situations.ts'

export interface SpreadSituation extends Omit<PlacementSituation, 'nodes'> {
  nodes: Node[]
  services: Service[]
  replicationcontrollers: ReplicationController[]
  replicasets: ReplicaSet[]
  statefulsets: StatefulSet[]
}

const MiB = 2 ** 20
const images: readonly [name: string, sizeBytes: number][] = [
  ['small:1', 10 * MiB],
  ['registry.example/web:2', 300 * MiB],
  ['docker.io/library/db:latest', 900 * MiB],
  ['big:latest', 3000 * MiB],
]
/** As pods write them: `big` stands for `big:latest`, and `db` for an image that no node has by this name. */
const references = [...images.map(([name]) => name), 'big', 'db']
const apps = ['web', 'db', 'job']

class Situation {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = generator(seed)
  }

  nodes(): Node[] {
    const zones = this.#oneOf([0, 0.7, 1])
    const withImages = this.#oneOf([0, 0.6, 0.9])
    const small = { cpu: '4', memory: '16Gi', pods: '110' }
    return Array.from({ length: 3 + this.#below(5) }, (_, n) => {
      const name = `n${n}`
      const labels = {
        'kubernetes.io/hostname': name,
        ...(this.#happens(zones) && { 'topology.kubernetes.io/zone': `z${this.#below(3)}` }),
        ...(this.#happens(0.5) && { disk: 'ssd' }),
      }
      const allocatable = this.#happens(0.7) ? small : { cpu: '16', memory: '32Gi', pods: '110' }
      const present = images
        .filter(() => this.#happens(0.5))
        .map(([image, sizeBytes]) => ({ names: [image], sizeBytes }))
      const taints = this.#happens(0.2) ? [{ key: 'kept', effect: 'PreferNoSchedule' }] : undefined
      return {
        metadata: { name, labels },
        ...(taints && { spec: { taints } }),
        status: {
          capacity: allocatable,
          allocatable,
          conditions: [{ type: 'Ready', status: 'True' }],
          ...(this.#happens(withImages) && present.length > 0 && { images: present }),
        },
      }
    })
  }

  pod(name: string): Pod {
    const requests: Record<string, string> = this.#happens(0.5)
      ? { cpu: `${100 * this.#below(6)}m`, memory: `${256 * this.#below(4)}Mi` }
      : {}
    const containers = Array.from({ length: this.#happens(0.3) ? 2 : 1 }, (_, i) => ({
      name: `c${i}`,
      image: this.#oneOf(references),
      resources: i === 0 ? { requests } : {},
    }))
    const labels = { app: this.#oneOf(apps), ...(this.#happens(0.3) && { tier: 'front' }) }
    return { metadata: { name, namespace: this.#namespace(), labels }, spec: { containers } }
  }

  incoming(): Pod {
    const { metadata, spec } = this.pod('incoming')
    const owner = this.#oneOf([
      undefined,
      { apiVersion: 'v1', kind: 'ReplicationController', name: 'rc' },
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: this.#oneOf(['rs', 'gone']) },
      { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'sts' },
      { apiVersion: 'batch/v1', kind: 'Job', name: 'job' },
    ])
    const preference = { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }
    return {
      metadata: {
        ...metadata,
        ...(owner && { ownerReferences: [{ ...owner, uid: 'uid-of-owner', controller: true }] }),
      },
      spec: {
        ...spec,
        ...(this.#happens(0.3) && { initContainers: [{ name: 'i', image: this.#oneOf(references) }] }),
        ...(this.#happens(0.2) && { tolerations: [{ key: 'kept', operator: 'Exists' }] }),
        ...(this.#happens(0.2) && {
          affinity: {
            nodeAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 + this.#below(100), preference }],
            },
          },
        }),
      },
    }
  }

  services(): Service[] {
    const service = (name: string, selector: Record<string, string>): Service => ({
      metadata: { name, namespace: this.#namespace() },
      spec: { selector, ports: [{ port: 80 }] },
    })
    return [
      ...(this.#happens(0.6) ? [service('of-app', { app: this.#oneOf(apps) })] : []),
      ...(this.#happens(0.2) ? [service('of-tier', { tier: 'front' })] : []),
    ]
  }

  /** The owners that {@link incoming} may name; whether they select it is chance. */
  owners(): Pick<SpreadSituation, 'replicationcontrollers' | 'replicasets' | 'statefulsets'> {
    const app = this.#oneOf(apps)
    const matchLabels = { app }
    const matchExpressions = [{ key: 'app', operator: 'In', values: [app, 'web'] }]
    const selector = this.#happens(0.7) ? { matchLabels } : { matchLabels, matchExpressions }
    const template = { metadata: { labels: matchLabels }, spec: { containers: [{ name: 'c', image: 'none' }] } }
    const metadata = (name: string) => ({ name, namespace: 'team-a' })
    return {
      replicationcontrollers: [{ metadata: metadata('rc'), spec: { replicas: 0, selector: matchLabels, template } }],
      replicasets: [{ metadata: metadata('rs'), spec: { replicas: 0, selector, template } }],
      statefulsets: [{ metadata: metadata('sts'), spec: { replicas: 0, serviceName: 's', selector, template } }],
    }
  }

  below(limit: number): number {
    return this.#below(limit)
  }

  #namespace(): string {
    return this.#happens(0.8) ? 'team-a' : (Object.keys(TEAMS)[1] ?? '')
  }
  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }
  #happens(share: number): boolean {
    return this.#random() < share
  }
  #oneOf<T>(values: readonly T[]): T {
    return values[this.#below(values.length)]!
  }
}

export function spreadSituation(seed: number): SpreadSituation {
  const situation = new Situation(seed)
  const nodes = situation.nodes()
  const pods = nodes.flatMap(({ metadata: { name: nodeName = '' } }) =>
    Array.from({ length: situation.below(6) }, (_, i) => {
      const { metadata, spec } = situation.pod(`${nodeName}-p${i}`)
      return { metadata, spec: { ...spec, nodeName } }
    }),
  )
  const incoming = situation.incoming()
  return { nodes, pods, incoming, services: situation.services(), ...situation.owners() }
}
