/** These types describe what pods keep their data in, as it travels in JSON. */
import type * as k8s from '@kubernetes/client-node'
import type { WithMeta } from './types.ts'

export type PersistentVolume = WithMeta<k8s.V1PersistentVolume>
export type PersistentVolumeClaim = WithMeta<k8s.V1PersistentVolumeClaim>
export type StorageClass = WithMeta<k8s.V1StorageClass>
