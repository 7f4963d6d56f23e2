import { randomUUID } from 'node:crypto'
import type { V1IPAddress } from '@kubernetes/client-node'
import type { KubeObject, WithMeta } from '../../../shared/api/types.ts'
import { parseTime, toTime } from '../../../shared/clock/timestamp.ts'
import { encodeObject, trackFields } from '../../kind/index.ts'
import type { ObjectCaches } from '../../registry/index.ts'
import { objectKey } from '../../registry/index.ts'

export type IpAddress = WithMeta<V1IPAddress>

const group = 'networking.k8s.io'
const plural = 'ipaddresses'
const managedBy = 'ipaddress.kubernetes.io/managed-by'
const allocator = 'ipallocator.k8s.io'

/**
 * Claims cluster IPs: each is an IPAddress, which is made before its Service. Upstream:
 * pkg/registry/core/service/ipallocator.
 */
export class IpClaims {
  readonly #objects: ObjectCaches
  readonly #nowMs: () => number

  constructor(objects: ObjectCaches, nowMs: () => number) {
    this.#objects = objects
    this.#nowMs = nowMs
  }

  all(): Iterable<IpAddress> {
    return this.#objects.lookupAll({ group, plural }) as unknown as Iterable<IpAddress>
  }

  has(ip: string): boolean {
    return this.#objects.lookup({ group, plural }, undefined, ip) !== undefined
  }

  /** Takes the address. Resolves to false if it is taken. */
  async take(ip: string, { metadata: { namespace, name } }: KubeObject): Promise<boolean> {
    const definition = this.#objects.catalog.find(group, 'v1', plural)!
    const creationTimestamp = toTime(this.#nowMs())
    const family = ip.includes(':') ? 'IPv6' : 'IPv4'
    const labels = { 'ipaddress.kubernetes.io/ip-family': family, [managedBy]: allocator }
    const object: KubeObject = {
      metadata: { name: ip, uid: randomUUID(), generation: 1, creationTimestamp, labels },
      spec: { parentRef: { group: '', resource: 'services', namespace, name } },
    }
    trackFields(definition, undefined, object, { manager: 'kube-apiserver', time: creationTimestamp })
    const key = objectKey(definition, undefined, ip)
    const { ok } = await this.#objects.storage.put({ key, value: encodeObject(object), expect: 'absent' })
    return ok
  }

  /** Gives the address back if it belongs to the Service. */
  async give(ip: string, { metadata }: KubeObject): Promise<void> {
    const address = this.#objects.lookup({ group, plural }, undefined, ip) as unknown as IpAddress | undefined
    if (address && isOf(address, metadata)) await this.remove(address)
  }

  /** Deletes the object unless it has changed. */
  async remove({ metadata: { name, resourceVersion } }: IpAddress): Promise<void> {
    const key = objectKey({ group, plural }, undefined, name ?? '')
    await this.#objects.storage.delete({ key, expect: Number(resourceVersion) })
  }

  ageMs({ metadata: { creationTimestamp } }: IpAddress): number {
    return this.#nowMs() - parseTime(creationTimestamp ?? '')
  }
}

/** Returns whether the server's own allocator made the IPAddress, rather than a user. */
export const isManaged = ({ metadata }: IpAddress): boolean => metadata.labels?.[managedBy] === allocator

const isOf = ({ spec }: IpAddress, { namespace, name }: KubeObject['metadata']): boolean => {
  const { group: parentGroup = '', resource, ...parent } = spec?.parentRef ?? {}
  return parentGroup === '' && resource === 'services' && parent.namespace === namespace && parent.name === name
}
