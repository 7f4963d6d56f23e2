import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { User } from '../kind/user.ts'
import type { Fence } from '../storage/fence.ts'
import type { Annotate } from './admission-plugin.ts'

export interface RequestScope {
  definition: ResourceDefinition
  /** The namespace is set for each request on a namespaced resource, except lists and watches of all namespaces. */
  namespace?: string
  subresource?: string
  user: User
}

export interface ObjectScope extends RequestScope {
  name: string
}

export interface WriteOptions {
  dryRun: boolean
  fieldManager: string
  /** Says that the object's managedFields are final: apply has set them, or upstream does not track this write. */
  managedFieldsAreSet?: boolean
  /** Says that admission has been asked already, about another request that leads to this write, e.g. an eviction. */
  isAdmitted?: boolean
  /** Holds the options that the client sent, as admission reviews show them. */
  asked?: Readonly<Record<string, unknown>>
  /** The write is made only while the fence holds. */
  fence?: Fence
  /** Writes into the audit event of the request; absent where the request is not recorded. */
  annotate?: Annotate
  /** Adds a Warning header with this text to the answer. */
  warn(text: string): void
}
