import type { DeleteOptions, KubeList, KubeObject, WatchEvent } from '../api/types.ts'

/** Describes a collection with the parts that its path needs. */
export interface Resource {
  group: string
  version: string
  plural: string
}
/** Names one object. Objects of a cluster have no namespace. */
export interface ObjectRef {
  namespace?: string
  name: string
}
/** Names a format of patches: JSON patch, merge patch, strategic merge patch, server-side apply. */
export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export interface PatchSettings {
  type?: PatchType
  subresource?: string
  /** The answer is looked at and never changed: within the server's process it is the object that others see, too. */
  readOnly?: boolean
  /**
   * Describes the object after the patch if the server changes nothing else: over the network it is returned with the
   * new resourceVersion, and the answer is not parsed.
   */
  foreseen?: KubeObject
  /** Names who applies. An apply of a control loop takes over the fields of others, as upstream's `Force` says. */
  fieldManager?: string
}

/**
 * Reads and writes objects for controllers and the kubelet: over HTTP (`rest-client.ts`), or directly in the registry
 * if they run in the server's process. Every method throws a {@link StatusError} (shared/api/status/status-error.ts)
 * for an answer that is a metav1.Status failure.
 */
export interface Client {
  /** Resolves to the object. Rejects with NotFound if it does not exist. */
  get<T extends object = KubeObject>(resource: Resource, ref: ObjectRef): Promise<T>
  /** Resolves to the objects that the options select; without a namespace, of all namespaces. */
  list<T extends object = KubeObject>(resource: Resource, options?: ListQuery): Promise<KubeList<T>>
  /** Creates the object and resolves to what the server stored. Rejects with AlreadyExists if the name is taken. */
  create<T extends object = KubeObject>(
    resource: Resource,
    object: T,
    options?: {
      namespace?: string
      subresource?: string
      name?: string
      /** If true, the client does not read the server's answer; the call may resolve with `object` itself. */
      unread?: boolean
    },
  ): Promise<T>
  /** Replaces the object. Rejects with Conflict if `metadata.resourceVersion` is given and stale. */
  update<T extends object = KubeObject>(resource: Resource, object: T, options?: { subresource?: string }): Promise<T>
  /** Patches the object; a merge patch by default. */
  patch<T extends object = KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: unknown,
    options?: PatchSettings,
  ): Promise<T>
  /** Deletes the object; a pod first gets its grace period. Rejects with NotFound if it does not exist. */
  delete(resource: Resource, ref: ObjectRef, options?: DeleteOptions): Promise<void>
  /** Yields events until the server ends the watch or the signal aborts. Throws an ERROR event as a StatusError. */
  watch<T extends object = KubeObject>(resource: Resource, options: WatchQuery): AsyncIterable<WatchEvent<T>>
  /** Closes the client's connections. */
  close(): Promise<void>
}

/** Selects the objects of a list. */
export interface ListQuery {
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  resourceVersion?: string
  limit?: number
  continue?: string
}
/** Selects the objects of a watch, and its beginning and end. */
export interface WatchQuery {
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  resourceVersion?: string
  allowWatchBookmarks?: boolean
  sendInitialEvents?: boolean
  timeoutSeconds?: number
  signal?: AbortSignal
}
