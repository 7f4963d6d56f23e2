import { ownValue } from '../../../shared/api/json/own-value.ts'
import { sendText } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import type { HealthMetrics } from '../metrics/health-metrics.ts'
import { notFound } from '../resources/resource-routes.ts'
import { endsWithSlash, type PathRoutes } from '../routing/paths.ts'

/** Returns why the server is not healthy; undefined while it is. */
export type HealthCheck = () => string | undefined

export type HealthChecks = Readonly<Record<string, HealthCheck>>

/**
 * /healthz, /livez or /readyz, each check under a path of its own. A real server does not have the checks of `extra`:
 * the list shows them only when they fail, so that it equals a real server's while all is well.
 */
export function healthRoute(
  metrics: HealthMetrics,
  name: 'healthz' | 'livez' | 'readyz',
  upstream: HealthChecks,
  extra: HealthChecks = {},
): PathRoutes {
  const checks = { ...upstream, ...extra }
  return {
    first: name,
    paths: {
      '': (exchange) =>
        endsWithSlash(exchange) ? notFound(exchange) : sendAll(exchange, name, { checks, extra, metrics }),
      '/*': (exchange, { '*': check = '' }) => {
        const single = ownValue(checks, check)
        if (!single || endsWithSlash(exchange)) return notFound(exchange)
        const failed = single() !== undefined
        sendText(exchange, failed ? 500 : 200, failed ? `internal server error: ${single()}\n` : 'ok')
      },
    },
  }
}

function sendAll(
  exchange: Exchange,
  name: string,
  { checks, extra, metrics }: { checks: HealthChecks; extra: HealthChecks; metrics: HealthMetrics },
): void {
  const { query } = exchange.info
  const excluded = new Set(query.getAll('exclude'))
  const lines: string[] = []
  let failed = false
  for (const [title, run] of Object.entries(checks)) {
    if (excluded.delete(title)) {
      lines.push(`[+]${title} excluded: ok`)
      continue
    }
    const isWell = run() === undefined
    const isExtra = Object.hasOwn(extra, title)
    if (!isExtra) metrics.observe(name, title, isWell)
    if (!isWell) lines.push(`[-]${title} failed: reason withheld`)
    else if (!isExtra) lines.push(`[+]${title} ok`)
    failed ||= !isWell
  }
  if (excluded.size > 0) {
    const shown = [...excluded].map((title) => JSON.stringify(title)).join(',')
    lines.push(`warn: some health checks cannot be excluded: no matches for ${shown}`)
  }
  const text = `${lines.join('\n')}\n${name} check ${failed ? 'failed' : 'passed'}\n`
  if (failed) sendText(exchange, 500, text)
  else sendText(exchange, 200, query.has('verbose') ? text : 'ok')
}

/** Returns the endpoint's own path, and the path of each of its checks. */
export const pathsOf = (name: string, checks: HealthChecks): string[] => [
  `/${name}`,
  ...Object.keys(checks).map((check) => `/${name}/${check}`),
]
