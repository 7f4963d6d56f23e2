import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import { methodNotAllowed } from '../../../shared/api/status/status-errors.ts'
import type { Exchange } from '../exchange.ts'
import { asHandler } from './handle.ts'
import { commonMethods, otherMethod } from './methods.ts'

/** A path with these methods answers all methods alike. They are few because each route costs start-up time. */
export const everyMethod: readonly string[] = [...commonMethods, otherMethod]
export const reading = ['GET', 'HEAD']

/** Handles a request on a path. `params` holds the parts of the URL by their names in the pattern. */
export type PathHandle = (exchange: Exchange, params: Readonly<Record<string, string>>) => unknown

/** Describes the paths below one first segment that are not resources. */
export interface PathRoutes {
  /** `''` for the root itself. */
  first: string
  /** Other methods are refused with 405, on paths that do not exist as well. Absent: there are no others. */
  methods?: readonly string[]
  /**
   * Maps what follows the first segment, a pattern of Fastify, to its handler: one for all `methods`, or one each. For
   * a method without a handler the path does not exist.
   */
  paths: Readonly<Record<string, PathHandle | HandlesByMethod>>
}

export type HandlesByMethod = Readonly<Record<string, PathHandle>>

/** The first segments of all paths that are no resources. */
export class Roots {
  readonly #methods = new Map<string, readonly string[]>()

  /** Adds the routes to the application. */
  add(app: FastifyInstance, { first, methods = everyMethod, paths }: PathRoutes): void {
    this.#methods.set(first, methods)
    for (const [path, handles] of Object.entries(paths)) {
      const url = `/${first}${path}`
      if (typeof handles === 'function') app.route({ method: [...methods], url, handler: handlerOf(handles) })
      else
        for (const [method, handle] of Object.entries(handles)) app.route({ method, url, handler: handlerOf(handle) })
    }
  }

  has(path: string): boolean {
    return this.#methods.has(firstOf(path))
  }

  /** Throws a StatusError (405) for a method that nothing below the path's first segment has. */
  assertMethod({ path, method }: { path: string; method: string }): void {
    const methods = this.#methods.get(firstOf(path))
    if (methods && methods !== everyMethod && !methods.includes(method)) throw methodNotAllowed()
  }
}

/** The router takes a path with a slash at its end for the one without; some paths of a real server have none. */
export const endsWithSlash = ({ info }: Exchange): boolean => info.path.endsWith('/')

const handlerOf = (handle: PathHandle): RouteHandlerMethod =>
  asHandler((exchange) => handle(exchange, exchange.reply.request.params as Readonly<Record<string, string>>))

const firstOf = (path: string): string => path.split('/', 2)[1] ?? ''
