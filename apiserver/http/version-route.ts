import { kubernetesVersion } from '../../shared/config/kubernetes-version.ts'
import { assertAcceptable, parseAccept } from './negotiation.ts'
import type { PathRoute } from './path-routes.ts'
import { sendJson } from './respond.ts'

/** `gitVersion`: what to be announced as, `v1.36.3`. */
export function versionRoute(gitVersion = kubernetesVersion.gitVersion): PathRoute {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)\./.exec(gitVersion) ?? []
  const emulated = { emulationMajor: major, emulationMinor: minor, minCompatibilityMinor: String(Number(minor) - 1) }
  const json = JSON.stringify({ ...kubernetesVersion, major, minor, ...emulated, gitVersion })
  return {
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
}
