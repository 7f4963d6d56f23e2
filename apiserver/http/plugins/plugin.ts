import type { FastifyInstance, FastifyPluginOptions } from 'fastify'
import type { Client } from '../../../shared/client/client.ts'
import type { RequestedResource } from '../../auth/types.ts'
import type { User } from '../../kind/user.ts'

/**
 * A Fastify plugin: it adds routes, hooks and decorators to the API server. Its hooks see every request, those of
 * Kubernetes' API included, after authentication and authorization. As in Fastify it is `async`, or calls `done`.
 */
export type ClusterPlugin = (
  app: FastifyInstance,
  options: FastifyPluginOptions,
  done: (error?: Error) => void,
) => unknown

/** Says what a request means in Kubernetes' words: `request.kubernetes`. */
export interface KubernetesRequest {
  /** Names the user that the request acts as. Absent if the client's credentials are not valid (401). */
  user?: User
  /**
   * Holds `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; the method in lower case
   * if there is no resource.
   */
  verb: string
  /** Holds the path without the query. */
  path: string
  /** Names the resource; absent for other paths, such as /healthz or a plugin's own. */
  resource?: RequestedResource
}

/** Offers a plugin the cluster: `app.kubernetes`. */
export interface KubernetesServer {
  /** Reads and writes as an administrator, without the network. */
  readonly client: Client
}

declare module 'fastify' {
  interface FastifyRequest {
    readonly kubernetes: KubernetesRequest
  }
  interface FastifyInstance {
    readonly kubernetes: KubernetesServer
  }
}

/** A plugin as messages call it. */
export interface NamedPlugin {
  /** Names the plugin as the user has: `plugin ./mine.mjs` for a file, package or function. */
  name: string
  /** Names the plugin's file; absent for a function of the library's caller. */
  file?: string
  plugin: ClusterPlugin
}
