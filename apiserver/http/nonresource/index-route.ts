import type { Catalog } from '../../registry/catalog.ts'
import { sendJson } from '../encode/respond.ts'
import { notFound } from '../resources/resource-routes.ts'
import { endsWithSlash, type PathHandle, type PathRoutes } from '../routing/paths.ts'

/** The root lists every path that is worth a visit. */
export function indexRoutes(catalog: Catalog, paths: readonly string[]): PathRoutes[] {
  const send: PathHandle = (exchange) =>
    exchange.info.path.length > 1 && endsWithSlash(exchange)
      ? notFound(exchange)
      : sendJson(exchange, { status: 200, json: JSON.stringify({ paths: all(catalog, paths) }) })
  return ['', 'index.html'].map((first) => ({ first, paths: { '': send } }))
}

function all(catalog: Catalog, paths: readonly string[]): string[] {
  const groups = catalog
    .definitions()
    .flatMap(({ group, version }) => (group ? [`/apis/${group}`, `/apis/${group}/${version}`] : [`/api/${version}`]))
  return [...new Set([...paths, '/api', '/apis', '/apis/', ...groups])].sort()
}
