import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import { methodNotAllowed } from '../../../shared/api/status/status-errors.ts'
import type { Exchange } from '../exchange.ts'
import { asHandler } from './handle.ts'
import { commonMethods, otherMethod } from './methods.ts'

/** A path with these methods answers all methods alike. They are few because each route costs start-up time. */
export const everyMethod: readonly string[] = [...commonMethods, otherMethod]

/** Handles a request on a path. `params` holds the parts of the URL by their names in the pattern. */
export type PathHandle = (exchange: Exchange, params: Readonly<Record<string, string>>) => unknown

/** Describes the paths below one first segment that are not resources. */
export interface PathRoutes {
  /** `''` for the root itself. */
  first: string
  /**
   * Maps what follows the first segment, a pattern of Fastify, to its handler: one for all methods, or one each. For a
   * method without a handler the path does not exist.
   */
  paths: Readonly<Record<string, PathHandle | HandlesByMethod>>
}

export type HandlesByMethod = Readonly<Record<string, PathHandle>>

/** The first segments of all paths that are no resources. */
export class Roots {
  readonly #firsts = new Set<string>()

  /** Adds the routes to the application. */
  add(app: FastifyInstance, { first, paths }: PathRoutes): void {
    this.#firsts.add(first)
    for (const [path, handles] of Object.entries(paths)) {
      const url = `/${first}${path}`
      if (typeof handles === 'function') app.route({ method: [...everyMethod], url, handler: handlerOf(handles) })
      else
        for (const [method, handle] of Object.entries(handles)) app.route({ method, url, handler: handlerOf(handle) })
    }
  }

  has(path: string): boolean {
    return this.#firsts.has(firstOf(path))
  }
}

/** Refuses methods other than GET with 405, as upstream does where a path is a resource of its web services. */
export const onlyGet =
  (handle: PathHandle): PathHandle =>
  (exchange, params) => {
    if (exchange.info.method !== 'GET') throw methodNotAllowed()
    return handle(exchange, params)
  }

/** The router takes a path with a slash at its end for the one without; some paths of a real server have none. */
export const endsWithSlash = ({ info }: Exchange): boolean => info.path.endsWith('/')

const handlerOf = (handle: PathHandle): RouteHandlerMethod =>
  asHandler((exchange) => handle(exchange, exchange.reply.request.params as Readonly<Record<string, string>>))

const firstOf = (path: string): string => path.split('/', 2)[1] ?? ''
