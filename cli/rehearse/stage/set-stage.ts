import type { Cluster } from '../../../cluster/index.ts'
import { ignoring, isStatus, StatusError } from '../../../shared/api/status/status-error.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import type { PersistentVolumeClaim } from '../../../shared/api/volumes.ts'
import { namespaces } from '../../../shared/client/resources.ts'
import { ConfigError } from '../../../shared/config/option.ts'
import type { Workload } from '../workload.ts'
import { discovery } from './discover.ts'

/** Objects of these kinds are made first, because others need them. */
const early = ['Namespace', 'CustomResourceDefinition', 'PriorityClass', 'ServiceAccount']
const order = ({ kind = '' }: KubeObject): number => (early.includes(kind) ? early.indexOf(kind) : early.length)

/**
 * Creates what workloads need to be there: their namespaces, and the other objects of the manifests, but for those of
 * kinds that are not served. Throws a ConfigError for what the API refuses.
 */
export async function setStage(
  cluster: Cluster,
  others: readonly KubeObject[],
  { workloads, onLeftOut }: { workloads: readonly Workload[]; onLeftOut(object: KubeObject): void },
): Promise<void> {
  const { client } = cluster
  const wanted = new Set([
    ...workloads.map(({ namespace }) => namespace),
    ...others.flatMap(({ metadata }) => metadata.namespace ?? []),
  ])
  wanted.delete('default')
  for (const name of wanted) await client.create(namespaces, { metadata: { name } }).catch(ignoring('AlreadyExists'))
  const find = await discovery(cluster.state.kubeconfig)
  for (const object of others.toSorted((a, b) => order(a) - order(b))) {
    const found = await find(object)
    if (!found) {
      onLeftOut(object)
      continue
    }
    const { resource, namespaced } = found
    const namespace = namespaced ? (object.metadata.namespace ?? 'default') : undefined
    await client.create(resource, adapted(object), { namespace }).catch((error: unknown) => {
      if (isStatus(error, 'AlreadyExists')) return
      if (!(error instanceof StatusError)) throw error
      throw new ConfigError(`${object.kind} ${object.metadata.name}: the API refuses it: ${error.message}`)
    })
  }
}

/** Adapts an object to the stage, which has one storage class, whatever a claim asks for elsewhere. */
function adapted(object: KubeObject): KubeObject {
  if (object.kind !== 'PersistentVolumeClaim') return object
  const {
    storageClassName: _class,
    selector: _selector,
    volumeName: _volume,
    ...spec
  } = object.spec as PersistentVolumeClaimSpec
  return { ...object, spec }
}
type PersistentVolumeClaimSpec = NonNullable<PersistentVolumeClaim['spec']>
