import { notAcceptable } from '../../../shared/api/status/status-errors.ts'
import type { Clock } from '../../../shared/clock/clock.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { kubernetesVersion } from '../../../shared/config/kubernetes-version.ts'
import { parseAccept } from '../encode/negotiation.ts'
import { sendText } from '../encode/respond.ts'
import type { Exchange } from '../exchange.ts'
import type { PathRoutes } from '../routing/paths.ts'

/** Serves pages about the process, for people. Upstream: component-base/zpages. */
export function zpages({ flags, clock }: { flags: Readonly<Record<string, unknown>>; clock: Clock }): PathRoutes[] {
  const startMs = clock.machine.now()
  return [
    page('statusz', () => {
      const nowMs = clock.machine.now()
      return {
        Started: toTime(startMs),
        Up: `${Math.floor((nowMs - startMs) / 1000)} s`,
        'Go version': kubernetesVersion.goVersion,
        'Binary version': kubernetesVersion.gitVersion.slice(1),
        'Emulation version': `${kubernetesVersion.emulationMajor}.${kubernetesVersion.emulationMinor}`,
      }
    }),
    page('flagz', () => flags),
  ]
}

function page(first: string, content: () => Readonly<Record<string, unknown>>): PathRoutes {
  const send = (exchange: Exchange): void => {
    assertPlainText(exchange)
    const lines = Object.entries(content()).map(([name, value]) => `${name}=${show(value)}`)
    sendText(
      exchange,
      200,
      `\nkube-apiserver ${first}\nThis page is for people, not to be parsed.\n\n${lines.join('\n')}\n`,
    )
  }
  return { first, paths: { '': send } }
}

const show = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? Object.entries(value)
        .map(([key, entry]) => (Array.isArray(value) ? String(entry) : `${key}=${entry}`))
        .join(',')
    : String(value)

function assertPlainText({ request }: Exchange): void {
  const { accept } = request.headers
  if (!accept || parseAccept(accept).some(({ type }) => type === '*/*' || type === 'text/*' || type === 'text/plain'))
    return
  throw notAcceptable('only the following media types are accepted: application/json, application/yaml, text/plain')
}
