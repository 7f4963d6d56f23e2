import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { User } from '../kind/user.ts'
import type { Fence } from '../storage/fence.ts'

/** Says what a request is about. */
export interface RequestScope {
  definition: ResourceDefinition
  /** Set for each request on a namespaced resource but lists and watches of all namespaces. */
  namespace?: string
  subresource?: string
  user: User
}

/** Says which object a request is about. */
export interface ObjectScope extends RequestScope {
  name: string
}

export interface WriteOptions {
  dryRun: boolean
  /** The manager that owns the written fields. */
  fieldManager: string
  /**
   * The object's managedFields are right as they are: apply has set them, or this write is one that upstream does not
   * track.
   */
  managedFieldsAreSet?: boolean
  /** Admission was asked about this as about something else, e.g. an eviction. */
  isAdmitted?: boolean
  /** What the client itself asked for, as admission reviews show it. */
  asked?: Readonly<Record<string, unknown>>
  /** The write is made only while it holds. */
  fence?: Fence
  /** Text of a Warning header. */
  warn(text: string): void
}
