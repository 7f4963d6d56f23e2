import { methodNotAllowed } from '../../shared/api/status-errors.ts'
import type { Exchange } from './exchange.ts'
import { sendText } from './respond.ts'

/** A path that is no resource: its first segment decides. */
export interface PathRoute {
  /** `''` for the root itself. */
  first: string
  /** Absent: all. */
  methods?: readonly string[]
  /** Answers false when the rest of the path leads nowhere. */
  handle(exchange: Exchange, parts: readonly string[]): boolean | Promise<boolean>
}

export interface PathRoutes {
  serve(exchange: Exchange): Promise<void>
  /** Whether the first segment of a path leads somewhere. */
  has(path: string): boolean
}

export function createPathRoutes(routes: readonly PathRoute[]): PathRoutes {
  const byFirst = new Map(routes.map((route) => [route.first, route]))
  return {
    has: (path) => byFirst.has(path.split('/', 2)[1] ?? ''),
    async serve(exchange) {
      const { path, method } = exchange.info
      const parts = path.replace(/^\/|\/$/g, '').split('/')
      const route = byFirst.get(parts[0]!)
      if (route?.methods && !route.methods.includes(method)) throw methodNotAllowed()
      const served = route && (await route.handle(exchange, parts))
      if (!served) sendText(exchange, 404, '404 page not found\n')
    },
  }
}
