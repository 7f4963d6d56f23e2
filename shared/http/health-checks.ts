import { type HealthAnswer, notFound } from './health-server.ts'

/** Returns why the part is not healthy; undefined while it is. */
export type Check = () => string | undefined

/**
 * Answers `/healthz`, `/livez`, and each check below them, as upstream's programs do; `?verbose` lists the checks.
 * Upstream: k8s.io/apiserver/pkg/server/healthz.
 */
export function healthOf(checks: Readonly<Record<string, Check>>, target: string): HealthAnswer {
  const [path = '', query = ''] = target.split('?')
  const [, name, single] = /^\/(healthz|livez)(?:\/([^/]+))?$/.exec(path) ?? []
  if (name === undefined) return notFound
  if (single !== undefined) {
    if (!Object.hasOwn(checks, single)) return notFound
    const trouble = checks[single]?.()
    return trouble === undefined ? ok : { code: 500, text: `internal server error: ${trouble}\n` }
  }
  const results = Object.entries(checks).map(([title, check]) => ({ title, failed: check() !== undefined }))
  const failed = results.some((result) => result.failed)
  if (!failed && !new URLSearchParams(query).has('verbose')) return ok
  const lines = results.map((result) =>
    result.failed ? `[-]${result.title} failed: reason withheld` : `[+]${result.title} ok`,
  )
  const text = [...lines, `${name} check ${failed ? 'failed' : 'passed'}`, ''].join('\n')
  return { code: failed ? 500 : 200, text }
}

const ok: HealthAnswer = { code: 200, text: 'ok' }
