import type { KubeObject, Pod } from '../../shared/api/types.ts'
import type { PersistentVolume } from '../../shared/api/volumes.ts'
import type { Lookup } from '../kind/lookup.ts'
import { namesInPod } from './pod-references.ts'
import { volumeSecrets } from './volume-secrets.ts'

interface Resource {
  group: string
  plural: string
}
interface Name {
  namespace: string
  name: string
}

/** Says which objects are related to a node. Upstream: plugin/pkg/auth/authorizer/node/graph.go. */
export interface NodeRelations {
  has(nodeName: string, resource: Resource, name: Name): boolean
}

export interface NodeRelationsOptions {
  lookup: Lookup
  podsOf(nodeName: string, namespace: string): readonly Pod[]
  volumes(): Iterable<KubeObject>
}

const volume = { group: '', plural: 'persistentvolumes' }
const claims = 'persistentvolumeclaims'

/** Looks at what is stored, so that no decision is older than that. */
export function nodeRelations({ lookup, podsOf, volumes }: NodeRelationsOptions): NodeRelations {
  /** Mirror pods show what the node runs by itself: they give it no rights. */
  const isNamed = (nodeName: string, plural: string, { namespace, name }: Name): boolean =>
    podsOf(nodeName, namespace).some((pod) => !isMirror(pod) && namesInPod(pod, plural).includes(name))

  const isBound = (nodeName: string, { spec }: PersistentVolume): boolean =>
    spec?.claimRef?.name !== undefined &&
    isNamed(nodeName, claims, { namespace: spec.claimRef.namespace ?? '', name: spec.claimRef.name })

  const isNeededByVolume = (nodeName: string, { namespace, name }: Name): boolean => {
    for (const object of volumes()) {
      const candidate = object as unknown as PersistentVolume
      const names = volumeSecrets(candidate).some((secret) => secret.name === name && secret.namespace === namespace)
      if (names && isBound(nodeName, candidate)) return true
    }
    return false
  }

  const nodeOf = (resource: Resource, { namespace, name }: Name): string | undefined =>
    (lookup(resource, namespace, name) as { spec?: { nodeName?: string } } | undefined)?.spec?.nodeName

  return {
    has(nodeName, resource, name) {
      switch (resource.plural) {
        case 'pods':
        case 'volumeattachments':
        case 'resourceslices':
          return nodeOf(resource, name) === nodeName
        case 'persistentvolumes': {
          const found = lookup(volume, undefined, name.name) as unknown as PersistentVolume | undefined
          return found !== undefined && isBound(nodeName, found)
        }
        case 'secrets':
          return isNamed(nodeName, 'secrets', name) || isNeededByVolume(nodeName, name)
        default:
          return isNamed(nodeName, resource.plural, name)
      }
    },
  }
}

const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined
