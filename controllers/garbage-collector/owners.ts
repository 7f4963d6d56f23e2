import { ignoreNotFound } from '../../shared/api/status/status-error.ts'
import type { ObjectMeta } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { type ApiResource, type ApiResources, resourceOfKind } from '../controller.ts'
import type { Informers, Metadata } from '../informers/informers.ts'
import type { OwnerReference } from '../informers/ownership.ts'

/** Upstream's three classes, and one for owners of an unknown kind, whose dependents are kept. */
export interface ClassifiedOwners {
  solid: OwnerReference[]
  /** Gone. */
  dangling: OwnerReference[]
  /** Being deleted in the foreground: they wait for us. */
  waiting: OwnerReference[]
  unresolvable: OwnerReference[]
}

export type OwnerFinder = ReturnType<typeof createOwnerFinder>

/** Finds owners: first among what the informers know, and before one is declared gone, at the server. */
export function createOwnerFinder(options: { client: Client; informers: Informers; resources: ApiResources }) {
  const { client, informers, resources } = options

  async function find(
    owner: OwnerReference,
    resource: ApiResource,
    namespace?: string,
  ): Promise<ObjectMeta | undefined> {
    const ref = { name: owner.name, ...(resource.namespaced && { namespace }) }
    const known = informers.metadata(resource).get(ref)
    if (known?.metadata.uid === owner.uid) return known.metadata
    const found = await client.get<Metadata>(resource, ref).catch(ignoreNotFound)
    return found?.metadata.uid === owner.uid ? found.metadata : undefined
  }

  return {
    async classify({ ownerReferences = [], namespace }: ObjectMeta): Promise<ClassifiedOwners> {
      const classes: ClassifiedOwners = { solid: [], dangling: [], waiting: [], unresolvable: [] }
      for (const reference of ownerReferences) {
        const resource = resourceOfKind(resources, reference)
        if (!resource || (resource.namespaced && !namespace)) {
          classes.unresolvable.push(reference)
          continue
        }
        const owner = await find(reference, resource, namespace)
        const state = owner ? (isDeletingDependents(owner) ? 'waiting' : 'solid') : 'dangling'
        classes[state].push(reference)
      }
      return classes
    },
    /** Resolves to the reason of the first owner that is being deleted for one. */
    async reasonOf(owners: OwnerReference[], namespace?: string): Promise<string | undefined> {
      for (const reference of owners) {
        const resource = resourceOfKind(resources, reference)
        const owner = resource && (await find(reference, resource, namespace))
        if (owner?.reason) return owner.reason
      }
      return undefined
    },
  }
}

export const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

export const isDeletingDependents = ({ deletionTimestamp, finalizers }: ObjectMeta): boolean =>
  deletionTimestamp !== undefined && finalizers?.includes(FOREGROUND) === true
export const isOrphaning = ({ deletionTimestamp, finalizers }: ObjectMeta): boolean =>
  deletionTimestamp !== undefined && finalizers?.includes(ORPHAN) === true
