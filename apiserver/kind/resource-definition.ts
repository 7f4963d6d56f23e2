import { apiVersionOf } from '../../shared/api/api-version.ts'
import type { ServiceHolding } from '../../shared/api/services/service-holding.ts'
import type { TerminationRequest } from '../../shared/api/termination.ts'
import type { DeleteOptions, KubeObject, ObjectMeta } from '../../shared/api/types.ts'
import type { FeatureGates } from '../../shared/config/feature-gates.ts'
import type { ManagedKind } from '../patch/managed-kind.ts'
import type { ForbiddenNulls } from '../schema/defaulting.ts'
import type { JSONSchemaProps } from '../schema/json-schema.ts'
import type { Decoded } from '../validation/decoder.ts'
import type { FieldErrors } from '../validation/field-errors.ts'
import type { WorkLimits } from '../work-limits.ts'
import type { ScaleAccess } from './scale-access.ts'
import type { Unconverted } from './unconverted.ts'
import type { User } from './user.ts'

/**
 * A kind as data: all that the registry, discovery, OpenAPI and kubectl need to know about it.
 * One file per kind in `resources/` exports one of these; a CRD becomes the same at run time.
 */
export interface ResourceDefinition<T extends Stored = KubeObject> {
  group: string
  version: string
  kind: string
  plural: string
  singular: string
  /**
   * Version that its objects are stored in, as discovery shows it; of built-in kinds the one that a real server takes.
   */
  storageVersion?: string
  /** Names the kind of its lists; by default the kind with `List` behind it. */
  listKind?: string
  /** Holds the text before the metadata of an item in its lists; by default only the brace. */
  itemHead?: string
  namespaced: boolean
  /**
   * If true, its objects may be created in a namespace that is terminating or gone, and stay when it is deleted.
   * Records of what happened there need this.
   */
  outlivesNamespace?: boolean
  shortNames?: string[]
  categories?: string[]
  /** Lists the verbs as discovery shows them; by default all eight. */
  verbs?: Verb[]
  /** Name of the type in the generated schemas, e.g. `io.k8s.api.core.v1.Pod`. */
  schema: string
  /** Columns after those of a Table; without it Name and Created At. */
  columns?: Column[]
  /** Returns one cell per column. `nowMs` is the clock's time, for ages. */
  cells?(object: T, nowMs: number): unknown[]
  /** Returns conditions of a Table's row, such as that a pod has completed. */
  rowConditions?(object: T): RowCondition[]
  /** Field selectors besides metadata.name and metadata.namespace; a value is always a string. */
  selectableFields?: Record<string, (object: T) => string>
  /** Returns the error for a field that is not selectable; by default most kinds' message. */
  unsupportedField?(field: string): string
  /**
   * `status: true`: has a status subresource, so that main writes keep the old status, and status writes the old spec.
   */
  subresources?: { status?: boolean; scale?: boolean }
  /**
   * Fields that a write through an endpoint (`''`: the object's own) leaves alone, so that no manager owns them,
   * besides status and spec: e.g. `{ status: ['metadata.labels'] }`.
   */
  resetFields?: { [subresource: string]: string[] }
  /** A write of its status changes no metadata: labels, annotations, finalizers and owners stay. */
  statusKeepsMetadata?: boolean
  /** Subresources served by their own handlers (binding, log, eviction …), for discovery. */
  extraSubresources?: SubresourceEntry[]
  /** Names an annotation that is a field upstream: only whole objects show it. */
  fieldAnnotation?: string
  /** Holds a Warning header for each request on this version. */
  deprecationWarning?: string
  strategy: Strategy<T>
  /** Answered when asked, by handlers of its own, and never stored. */
  virtual?: boolean
  /** Set for a version whose objects are stored in the form of another. */
  conversion?: BuiltInConversion
  /** Maps apiVersions to the other versions of the same resource. */
  siblings?: Readonly<Record<string, SiblingVersion>>
  /** Set for custom resources, whose type is a schema that came at run time. */
  custom?: CustomTraits
  /** A complete, valid manifest: the data-driven tests create, patch and delete it. */
  example: T
}

/** Converts between one version of a resource and the version in which objects are stored. */
export interface VersionConversion {
  /** Group under which the objects are stored, when it is another. */
  storageGroup?: string
  /** A stored value as this version shows it; undefined: as it is. */
  present(stored: { value: string; revision: number; parts?: readonly string[] }): string | Unconverted | undefined
  /** Brings an object of this version, in place, into the form in which it is stored. */
  toStorage(object: KubeObject): void
}

/** A built-in conversion never fails. It runs only on request, since most objects are never read in this version. */
export interface BuiltInConversion extends VersionConversion {
  present(stored: { value: string }): string
}

/**
 * Describes another version of a resource to field management: its type, and the conversion of objects of this version
 * to it and back.
 */
export interface SiblingVersion {
  schema: string
  convert(object: KubeObject): KubeObject
  convertBack(object: KubeObject): KubeObject
}

/** Holds the behaviour of a custom resource that differs from that of built-in kinds. */
export interface CustomTraits extends VersionConversion {
  schema: JSONSchemaProps
  /** Reads a body, as the decoder does for built-in types. Throws DecodeError. */
  decode(body: Record<string, unknown>, nulls?: ForbiddenNulls): Decoded
  /** Says how field management sees this version. */
  managedKind: ManagedKind
  /** Present with the scale subresource. */
  scale?: ScaleAccess
  /** Present where another program converts between versions. */
  webhook?: ConversionWebhook
}

/** Converts through a webhook. Each method rejects with a StatusError when the webhook fails. */
export interface ConversionWebhook {
  /** Brings an object of this version, in place, into the form in which it is stored. */
  toStorage(object: KubeObject): Promise<void>
  /** Prepares what `present` will say in every version of a value that is about to be stored. */
  announce(value: string): Promise<void>
  /** Stored values as this version shows them. */
  present(values: readonly string[]): Promise<string[]>
  /** An object of this version as another shows it. */
  convert(object: KubeObject, version: string): Promise<KubeObject>
  /** An object of one apiVersion as the webhook makes it in another, without the defaults of that one. */
  between(object: KubeObject, from: string, to: string): Promise<KubeObject>
}

export interface RowCondition {
  type: string
  status: string
  reason: string
  message: string
}

/** The least that a kind's type must have. */
export interface Stored {
  metadata: ObjectMeta
}

/** Describes a built-in kind in terms of its own type, without what follows from its group, version and kind. */
export interface BuiltInKind<T extends Stored>
  extends Omit<ResourceDefinition<T>, 'version' | 'singular' | 'namespaced' | 'schema' | 'strategy' | 'example'>,
    Partial<Pick<ResourceDefinition<T>, 'version' | 'singular' | 'namespaced' | 'schema' | 'strategy'>> {
  example: Omit<T, 'apiVersion' | 'kind'>
}
/** Returns the definition of a built-in kind. Default: a cluster-wide kind of v1 with the schema of Kubernetes' API. */
export function resource<T extends Stored>({ version = 'v1', ...written }: BuiltInKind<T>): ResourceDefinition {
  const { group, kind, example } = written
  return {
    namespaced: false,
    singular: kind.toLowerCase(),
    schema: `io.k8s.api.${group.split('.')[0] || 'core'}.${version}.${kind}`,
    strategy: {},
    ...written,
    version,
    example: { apiVersion: apiVersionOf({ group, version }), kind, ...example },
  } as unknown as ResourceDefinition
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch'

export interface SubresourceEntry {
  name: string
  kind: string
  /** Names the group of the subresource if it is not the resource's own. */
  group?: string
  version?: string
  verbs: string[]
}

export interface Column {
  name: string
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  format?: string
  description: string
  /** 0 always shown; 1 only with `-o wide`. */
  priority?: number
}

/** Holds what every strategy function receives in addition to the object. */
export interface StrategyContext {
  nowMs: number
  featureGates: FeatureGates
  limits: WorkLimits
  namespace?: string
  /** Returns the labels of that namespace, if it is there. */
  namespaceLabels?(): Readonly<Record<string, string>> | undefined
  /** Present for a write of a subresource. */
  subresource?: string
  user?: User
  /** Nothing comes of the write. */
  dryRun?: boolean
  /** Text of a Warning header of the answer, also of one that refuses the write. */
  warn?(text: string): void
  /** Cluster IPs and node ports, where the server hands them out. */
  serviceAddresses?: ServiceAddresses
  /** Returns the requests that asked for the deletion of the object with this UID, in order. */
  deletionRequests?: { of(uid: string): TerminationRequest[] | undefined }
  /** Returns when new connections stopped going to a pod. */
  endpointRemovals?: { of(podUid: string): { atMs: number; from: string } | undefined }
}
/** Allocates addresses and ports to Services. Each address and port belongs to at most one Service. */
export interface ServiceAddresses {
  /** Takes a given address; answers why it cannot be had. */
  takeIp(ip: string): string | undefined
  /** Takes a free one. */
  nextIp(): string
  takePort(port: number, anyRange?: boolean): string | undefined
  nextPort(): number
  /** These are free again, unless a stored Service has them. */
  release(holding: ServiceHolding): void
  /** Takes addresses and ports that are free for this server, if several servers share the ranges. */
  shared?: SharedServiceAddresses
}
export interface SharedServiceAddresses {
  hasIp(ip: string): boolean
  hasPort(port: number): boolean
  /** All or none for the Service; false: another write was first, and this server knows of it. */
  take(service: KubeObject, wanted: ServiceHolding): Promise<boolean>
  /** Never rejects. */
  give(service: KubeObject, holding: ServiceHolding): Promise<void>
}
/** Holds what a write has allocated to its object, and what the object had before. */
export interface Allocation {
  /** The write has stored the object, as it is now; or nothing. Never rejects. */
  end(isStored: boolean): Promise<void>
}
/**
 * Upstream's rest.*Strategy: optional, synchronous. Objects are the request's own and may be changed in place; `old`
 * may not.
 */
export interface Strategy<T extends Stored = KubeObject> {
  /**
   * Many objects have their spec alike, and it may be frozen. Whatever changes the spec of an update replaces it, and
   * `prepareForUpdate` puts the old spec back where nothing has changed.
   */
  sharesSpec?: true
  /** Fills in what the client left out; runs on every decoded body and patch result, before validation. */
  applyDefaults?(object: T, context: StrategyContext): void
  /**
   * Takes what is scarce (addresses, ports) for a create (`old` undefined) or update, before anything is prepared or
   * validated. Errors end the request at once. A promise where other servers take from the same.
   */
  begin?(
    object: T,
    old: T | undefined,
    errors: FieldErrors,
    context: StrategyContext,
  ): undefined | Allocation | Promise<Allocation | undefined>
  /** Gives back what `begin` took for an object that is gone. A promise where other servers take from the same. */
  afterDelete?(object: T, context: StrategyContext): void | Promise<void>
  /** Sets or clears what the server owns, such as the status, before a create is validated. */
  prepareForCreate?(object: T, context: StrategyContext): void
  prepareForUpdate?(object: T, old: T, context: StrategyContext): void
  /** Lets `prepareForCreate` see a generated name, of which one is tried then. */
  usesName?: true
  /** Runs after a create has given the object its name. */
  canonicalize?(object: T): void
  validate?(object: T, errors: FieldErrors, context: StrategyContext): void
  validateUpdate?(object: T, old: T, errors: FieldErrors, context: StrategyContext): void
  /** Returns the texts of Warning headers. */
  warnings?(object: T, old: T | undefined, context: StrategyContext): string[]
  /** Returns the texts of Warning headers of a delete. */
  deletionWarnings?(options: DeleteOptions): string[]
  /**
   * Returns how many seconds a delete lets the object live on; undefined if it is removed at once (upstream's
   * CheckGracefulDelete).
   */
  checkGracefulDelete?(object: T, options: DeleteOptions): number | undefined
  /** A kind that a DELETE only marks, until what it contains is gone (namespaces). */
  deletion?: {
    /** Changes what the first DELETE changes besides deletionTimestamp. */
    begin(object: T): void
    /** While it holds, nothing removes the object. */
    isHeld(object: T): boolean
  }
  /** Name rule for create; default: DNS-1123 subdomain. Returns messages. */
  validateName?(name: string, options: { prefix: boolean }): string[]
  /** The rule of a name that follows from the object. */
  nameRuleOf?(object: T): (name: string) => string[]
  /**
   * Allows finalizers without a domain. By default a finalizer has one (`example.com/name`), unless it is one of
   * Kubernetes' own.
   */
  unqualifiedFinalizers?: boolean
  /** Lets an update without resourceVersion overwrite, which is the default. */
  allowUnconditionalUpdate?: boolean
  /** Lets PUT of an absent name create the object; by default it does not. */
  allowCreateOnUpdate?: boolean
  /** Keeps metadata.generation: it rises by one if `changed` returns true. */
  generation?: { changed(object: T, old: T): boolean }
  /** Makes a finished delete answer with the object; by default it answers with a Status. */
  returnsDeletedObject?: boolean
}
