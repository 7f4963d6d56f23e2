import type { KubeObject } from '../../shared/api/types.ts'
import type { ResourceDefinition } from '../kind/resource-definition.ts'
import type { User } from '../kind/user.ts'

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
  /** What the client asked for besides, as reviews show it. */
  options?: OperationOptions
  /** What clients see at the subresource, where that is not the object itself. */
  view?: AdmissionView
  /** Set by plugins that call webhooks, and call them again for later changes. */
  reinvocation?: Reinvocation
  warn(text: string): void
}

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
  /** A webhook has changed the object. */
  isNeeded: boolean
  /** Webhooks that want to be asked again, and those of them that shall be. */
  readonly willing: Set<string>
  readonly wanted: Set<string>
  /** What the last webhook left of the object. */
  lastOutput?: string
}

/**
 * A rule of the cluster about writes. Both throw a StatusError to refuse; a promise only where something must be waited
 * for.
 */
export interface AdmissionPlugin {
  /** Is asked about what is never stored, too: evictions, bindings, tokens and connections. */
  asksAll?: boolean
  /** Before validation; may change the object. */
  admit?(attributes: AdmissionAttributes): void | Promise<void>
  /** After validation, when every mutation is done. */
  validate?(attributes: AdmissionAttributes): void | Promise<void>
}
