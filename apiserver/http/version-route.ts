import { kubernetesVersion } from './kubernetes-version.ts'
import { assertAcceptable, parseAccept } from './negotiation.ts'
import type { PathRoute } from './path-routes.ts'
import { sendJson } from './respond.ts'

const json = JSON.stringify(kubernetesVersion)

export const versionRoute: PathRoute = {
  first: 'version',
  methods: ['GET'],
  handle(exchange, parts) {
    if (parts.length > 1) return false
    const { accept } = exchange.request.headers
    if (accept) assertAcceptable(parseAccept(accept), false)
    sendJson(exchange, { status: 200, json })
    return true
  },
}
