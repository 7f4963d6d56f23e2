import type { KubeObject } from '../../shared/api/types.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { User } from '../kind/user.ts'

/** Describes a write that is about to happen. */
export interface AdmissionAttributes {
  operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  definition: ResourceDefinition
  subresource?: string
  namespace?: string
  /** The name is empty for a create whose name is not generated yet. */
  name: string
  /** Holds the object; absent for DELETE. `admit` may change it. */
  object?: KubeObject
  /** Holds the stored object; absent for CREATE. */
  old?: KubeObject
  user: User
  dryRun: boolean
  /** Holds the options of the client's request, as reviews show them. */
  options?: OperationOptions
  /** The kind that clients see at the subresource, if it is not the object's own. */
  view?: AdmissionView
  /** Set by plugins that ask webhooks or policies, and ask them again after later changes. */
  reinvocation?: Reinvocation
  warn(text: string): void
  /** Writes into the audit event of the request; absent where the request is not recorded. */
  annotate?: Annotate
}

/**
 * Writes an annotation, unless its key has a value. `level`: one that shows a part of a body is for events that have
 * bodies of requests.
 */
export type Annotate = (key: string, value: string, level?: 'Request') => void

/** Holds the CreateOptions, UpdateOptions or DeleteOptions (meta.k8s.io/v1) of a request. */
export interface OperationOptions {
  kind: string
  [option: string]: unknown
}

/**
 * Describes the kind of a subresource, e.g. Scale: how it shows an object, and how a change of that view changes the
 * object.
 */
export interface AdmissionView {
  group: string
  version: string
  kind: string
  show(object: KubeObject): KubeObject
  /** Changes `object` in place. */
  change(object: KubeObject, shown: KubeObject): void
}

/** Tracks for one request whether its mutating plugins must be asked a second time. */
export interface Reinvocation {
  isSecondRound: boolean
  /** A webhook or policy has changed the object. */
  isNeeded: boolean
  /** Holds, by the names of plugins, what each keeps from one round to the next. */
  readonly plugins: Map<string, unknown>
}

/**
 * A plugin is a rule of the cluster about writes. Both methods throw a StatusError to refuse, and return a promise only
 * where they must wait.
 */
export interface AdmissionPlugin {
  /**
   * Says whether the plugin is also asked about objects that are never stored: evictions, bindings, tokens and
   * connections.
   */
  asksAll?: boolean
  /** Runs before validation; may change the object. */
  admit?(attributes: AdmissionAttributes): void | Promise<void>
  /** Runs after validation, when the object no longer changes. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>
}
