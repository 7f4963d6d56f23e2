import type { KubeObject } from '../shared/api/types.ts'
import type { Client, Resource } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import type { Log } from '../shared/log/log.ts'
import type { Informers } from './informers/informers.ts'

/** Runs a control loop. The loop starts when the object is created. */
export interface Controller {
  /** Stops the loop. Resolves when it neither works nor watches any more. */
  close(): Promise<void>
}

/** Holds what every control loop needs. */
export interface ControllerContext {
  client: Client
  informers: Informers
  clock: Clock
  log: Log
}

/** Asks the API server by path. Both reject with a StatusError for any answer that is a failure. */
export interface PathClient {
  get(path: string): Promise<unknown>
  put(path: string, object: object): Promise<unknown>
}

/** A kind as controllers that treat all kinds alike need to know it. */
export interface ApiResource extends Resource {
  kind: string
  namespaced: boolean
  /** If true, the objects stay when their namespace is deleted. */
  outlivesNamespace?: boolean
  /** Lists the verbs that the server serves; without it all of them. */
  verbs?: readonly string[]
  /** Says which subresources of built-in kinds exist. */
  subresources?: { scale?: boolean }
  /** Finds the wanted replicas of a custom resource that has a scale subresource. */
  custom?: { scale?: { specReplicas(object: KubeObject): number | undefined } }
}

/** All kinds that the server serves: custom ones come and go. */
export interface ApiResources {
  current(): readonly ApiResource[]
  /** Tells of every kind that is served now, and from now on of each that comes or goes. Returns how to leave. */
  follow(listener: { onAdd(resource: ApiResource): void; onRemove?(resource: ApiResource): void }): () => void
}

export const supports = (resource: ApiResource, ...verbs: string[]): boolean =>
  verbs.every((verb) => resource.verbs?.includes(verb) ?? true)

/**
 * Returns the resource of a kind in any served version, or undefined if the kind is not served. `apiVersion` is in the
 * form of owner references.
 */
export function resourceOfKind(
  resources: ApiResources,
  { apiVersion, kind }: { apiVersion: string; kind: string },
): ApiResource | undefined {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
  return resources.current().find((resource) => resource.kind === kind && resource.group === group)
}
