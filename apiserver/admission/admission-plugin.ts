import type { KubeObject } from '../../shared/api/types.ts'
import type { User } from '../auth/types.ts'
import type { ResourceDefinition } from '../registry/resource-definition.ts'

/** A write that is about to happen. */
export interface AdmissionAttributes {
  operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  definition: ResourceDefinition
  subresource?: string
  namespace?: string
  /** Empty for a create whose name is yet to be generated. */
  name: string
  /** Absent for DELETE. May be changed by `admit`. */
  object?: KubeObject
  /** Absent for CREATE. */
  old?: KubeObject
  user: User
  dryRun: boolean
  warn(text: string): void
}

/** A rule of the cluster about writes. Both throw a StatusError to refuse; a promise only where something must be waited for. */
export interface AdmissionPlugin {
  /** Before validation; may change the object. */
  admit?(attributes: AdmissionAttributes): void | Promise<void>
  /** After validation, when every mutation is done. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>
}

/** How plugins and strategies look at other objects. What comes back is shared: read, never change it. */
export type Lookup = (
  resource: { group: string; plural: string },
  namespace: string | undefined,
  name: string,
) => KubeObject | undefined

/** All objects of a resource, or of one namespace of it; likewise only to be looked at. */
export type LookupAll = (resource: { group: string; plural: string }, namespace?: string) => Iterable<KubeObject>
