import { notAcceptableRoute, resourceNotFound } from '../../../shared/api/status/status-errors.ts'
import { kubernetesVersion } from '../../../shared/config/kubernetes-version.ts'
import { parseAccept } from '../encode/negotiation.ts'
import { sendJson } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import { onlyGet, type PathRoutes } from '../routing/paths.ts'

/** `gitVersion`: what to be announced as, `v1.36.3`. */
export function versionRoute(gitVersion = kubernetesVersion.gitVersion): PathRoutes {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)\./.exec(gitVersion) ?? []
  const emulated = { emulationMajor: major, emulationMinor: minor, minCompatibilityMinor: String(Number(minor) - 1) }
  const json = JSON.stringify({ ...kubernetesVersion, major, minor, ...emulated, gitVersion })
  const send = (exchange: Exchange): void => {
    const { accept } = exchange.request.headers
    if (accept && !parseAccept(accept).some(({ type }) => type === '*/*' || type === 'application/json'))
      throw notAcceptableRoute('Available representations: application/json')
    sendJson(exchange, { status: 200, json }, { encoding: 'json', isIndented: true })
  }
  const refuse = (exchange: Exchange): void => {
    if (exchange.info.path !== '/version/') throw resourceNotFound()
    send(exchange)
  }
  return { first: 'version', paths: { '': onlyGet(send), '/*': refuse } }
}
