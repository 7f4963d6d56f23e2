import { once } from 'node:events'
import { isReadyEndpoint } from '../../shared/api/services/endpoint-slices.ts'
import { createServer } from '../../shared/http/node-http.ts'
import type { Served } from '../runtime/network/node-network.ts'
import type { ClusterServices } from './cluster-services.ts'

/** A `healthCheckNodePort`, and how many endpoints its Service has on this node. */
export interface HealthCheck {
  port: number
  namespace: string
  name: string
  localEndpoints: number
}

/** Returns the ports at which balancers ask whether this node has an endpoint of a Service. */
export function healthChecks(known: Pick<ClusterServices, 'list' | 'slices'>, nodeName: string): HealthCheck[] {
  return [...known.list()].flatMap(({ metadata: { namespace = '', name = '' }, spec }) => {
    const port = spec?.healthCheckNodePort
    if (!port) return []
    const endpoints = known.slices(namespace, name).flatMap((slice) => slice.endpoints ?? [])
    const local = endpoints.filter((endpoint) => endpoint.nodeName === nodeName && isReadyEndpoint(endpoint))
    return [{ port, namespace, name, localEndpoints: new Set(local.flatMap(({ addresses }) => addresses)).size }]
  })
}

/** Answers as kube-proxy does (pkg/proxy/healthcheck/service_health.go): 200 where there is an endpoint, else 503. */
export async function serveHealthCheck(port: number, current: () => HealthCheck | undefined): Promise<Served> {
  const server = createServer((_request, response) => {
    const { namespace = '', name = '', localEndpoints = 0 } = current() ?? {}
    const answer = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: true }
    response
      .writeHead(localEndpoints > 0 ? 200 : 503, {
        'content-type': 'application/json',
        'x-content-type-options': 'nosniff',
        'x-load-balancing-endpoint-weight': localEndpoints,
      })
      .end(JSON.stringify(answer, null, '\t'))
  })
  await once(server.listen(port), 'listening')
  server.unref()
  return {
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
