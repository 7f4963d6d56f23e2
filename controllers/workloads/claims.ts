import { type LabelSelector, matchesLabels } from '../../shared/api/selectors/label-selector.ts'
import { isStatus } from '../../shared/api/status/status-error.ts'
import type { KubeObject, ObjectMeta } from '../../shared/api/types.ts'
import type { Client, Resource } from '../../shared/client/client.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { controllerOf, controllerReference, type OwnerKind, orphansOf } from '../informers/ownership.ts'

interface Claimable {
  metadata: ObjectMeta
}
interface Owner {
  metadata: ObjectMeta
}

/**
 * Decides what a controller does about an object that it may own. Pure; upstream:
 * pkg/controller/controller_ref_manager.go.
 */
export function claimOn(
  object: Claimable,
  owner: Owner,
  selector: LabelSelector,
): 'keep' | 'adopt' | 'release' | 'ignore' {
  const controller = controllerOf(object.metadata)
  const matches = matchesLabels(selector, object.metadata.labels)
  const ownerGoes = owner.metadata.deletionTimestamp !== undefined
  if (controller) {
    if (controller.uid !== owner.metadata.uid) return 'ignore'
    if (matches) return 'keep'
    return ownerGoes ? 'ignore' : 'release'
  }
  return matches && !ownerGoes && !object.metadata.deletionTimestamp ? 'adopt' : 'ignore'
}

export interface ClaimOptions<T> {
  client: Client
  /** Resource of the claimed objects; their informer has the index `controller`. */
  resource: Resource
  informer: Informer<T>
  /** Kind of the owner, and its resource, to check that the owner still exists. */
  kind: OwnerKind & { resource: Resource }
  /** Decides which orphans may be adopted; without it all of them may. */
  mayAdopt?(object: T): boolean
}

/**
 * Returns the owner's objects: those it has, and the matching orphans, which it adopts. Releases objects that its
 * selector no longer matches.
 */
export async function claim<T extends Claimable>(
  owner: Owner,
  selector: LabelSelector,
  { client, resource, informer, kind, mayAdopt = () => true }: ClaimOptions<T>,
): Promise<T[]> {
  const { namespace, name = '', uid = '' } = owner.metadata
  const candidates = [...informer.byIndex('controller', uid), ...informer.byIndex('controller', orphansOf(namespace))]
  const claimed: T[] = []
  let lives: Promise<void> | undefined
  for (const object of candidates) {
    const verdict = claimOn(object, owner, selector)
    if (verdict === 'ignore') continue
    if (verdict === 'adopt') {
      if (!mayAdopt(object)) continue
      lives ??= checkLives()
      await lives
      if (!(await setOwner(object, [controllerReference(kind, owner.metadata)]))) continue
    }
    if (verdict === 'release') {
      await setOwner(object, [{ $patch: 'delete', uid }])
      continue
    }
    claimed.push(object)
  }
  return claimed

  /** Our copy may be old: an owner that is gone, or going, must not adopt. */
  async function checkLives(): Promise<void> {
    const { metadata } = await client.get<KubeObject>(kind.resource, { namespace, name })
    if (metadata.uid !== uid) throw new Error(`original ${kind.kind} ${namespace}/${name} is gone`)
    if (metadata.deletionTimestamp) throw new Error(`${namespace}/${name} has just been deleted`)
  }

  /** Resolves to false if the object is gone, or has another owner. */
  async function setOwner({ metadata }: T, ownerReferences: object[]): Promise<boolean> {
    const ref = { namespace: metadata.namespace, name: metadata.name ?? '' }
    const patch = { metadata: { uid: metadata.uid, ownerReferences } }
    try {
      await client.patch(resource, ref, patch, { type: 'strategic' })
      return true
    } catch (error) {
      if (isStatus(error, 'NotFound') || isStatus(error, 'Invalid')) return false
      throw error
    }
  }
}
