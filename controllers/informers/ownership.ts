import type { ObjectMeta } from '../../shared/api/types.ts'

export type OwnerReference = NonNullable<ObjectMeta['ownerReferences']>[number]

/** A kind as owner references and events name it. */
export interface OwnerKind {
  apiVersion: string
  kind: string
}

export const controllerOf = ({ ownerReferences }: ObjectMeta): OwnerReference | undefined =>
  ownerReferences?.find(({ controller }) => controller)

export const controllerReference = ({ apiVersion, kind }: OwnerKind, { name = '', uid = '' }: ObjectMeta) => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
})

/** The values of the informers' index `controller`: the controller's UID, or whose namespace the orphan is in. */
export const controllerIndex = ({ metadata }: { metadata: ObjectMeta }): string[] => [
  controllerOf(metadata)?.uid ?? orphansOf(metadata.namespace),
]
export const orphansOf = (namespace = ''): string => `orphans of ${namespace}`

/** Returns the values of the informers' index `namespace`. */
export const namespaceIndex = ({ metadata }: { metadata: ObjectMeta }): string[] => [metadata.namespace ?? '']
