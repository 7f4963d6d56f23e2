import type { DeleteOptions, KubeList, KubeObject, WatchEvent } from '../api/types.ts'

/** Describes a collection with the parts that its path needs. */
export interface Resource {
  group: string
  version: string
  plural: string
}
export interface ObjectRef {
  namespace?: string
  name: string
}
export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

/**
 * Reads and writes objects for controllers and the kubelet: over HTTP (`rest-client.ts`), or directly in the registry
 * if they run in the server's process. Every method throws a {@link StatusError} (shared/api/status-error.ts) for an
 * answer that is a metav1.Status failure.
 */
export interface Client {
  get<T extends object = KubeObject>(resource: Resource, ref: ObjectRef): Promise<T>
  list<T extends object = KubeObject>(resource: Resource, options?: ListQuery): Promise<KubeList<T>>
  create<T extends object = KubeObject>(
    resource: Resource,
    object: T,
    options?: {
      namespace?: string
      subresource?: string
      name?: string
      /** If true, the server's answer is not read; the call may resolve with `object` itself. */
      unread?: boolean
    },
  ): Promise<T>
  update<T extends object = KubeObject>(resource: Resource, object: T, options?: { subresource?: string }): Promise<T>
  patch<T extends object = KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: unknown,
    options?: {
      type?: PatchType
      subresource?: string
      /**
       * The answer is looked at and never changed: within the server's process it is the object that others see, too.
       */
      readOnly?: boolean
    },
  ): Promise<T>
  delete(resource: Resource, ref: ObjectRef, options?: DeleteOptions): Promise<void>
  /** Ends (without error) when the server ends it or the signal aborts; an ERROR event is thrown as StatusError. */
  watch<T extends object = KubeObject>(resource: Resource, options: WatchQuery): AsyncIterable<WatchEvent<T>>
  close(): Promise<void>
}

export interface ListQuery {
  namespace?: string
  labelSelector?: string
  fieldSelector?: string
  resourceVersion?: string
  limit?: number
  continue?: string
}
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
