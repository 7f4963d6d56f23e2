import type { Catalog } from '../registry/catalog.ts'
import type { PathRoute } from './path-routes.ts'
import { sendJson } from './respond.ts'

/** The root lists every path that is worth a visit. */
export function indexRoutes(catalog: Catalog, paths: readonly string[]): PathRoute[] {
  const send: PathRoute['handle'] = (exchange, parts) => {
    if (parts.length > 1) return false
    sendJson(exchange, { status: 200, json: JSON.stringify({ paths: all(catalog, paths) }) })
    return true
  }
  return [
    { first: '', methods: ['GET'], handle: send },
    { first: 'index.html', methods: ['GET'], handle: send },
  ]
}

function all(catalog: Catalog, paths: readonly string[]): string[] {
  const groups = catalog
    .definitions()
    .flatMap(({ group, version }) => (group ? [`/apis/${group}`, `/apis/${group}/${version}`] : [`/api/${version}`]))
  return [...new Set([...paths, '/api', '/apis', '/apis/', ...groups])].sort()
}
