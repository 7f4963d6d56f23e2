/**
 * A reason carried in the server's address: `https://127.0.0.1:6443/kubestage-reason-<base64url>` in place of
 * `https://127.0.0.1:6443`. A stock kubectl sends no `reason` of its own, but keeps to whatever address it is given: so
 * each DELETE and eviction of one command has it.
 */
const prefix = '/kubestage-reason-'

export function withoutReason(url: string): string {
  if (!url.startsWith(prefix)) return url
  const end = url.indexOf('/', prefix.length)
  return end === -1 ? url : url.slice(end)
}

/** The URL as it is meant: without the prefix, and with the reason as a parameter where one counts. */
export function withReason(method: string, url: string): string {
  const rest = withoutReason(url)
  if (rest === url || !deletes(method, rest)) return rest
  const reason = Buffer.from(url.slice(prefix.length, url.length - rest.length), 'base64url').toString()
  return `${rest}${rest.includes('?') ? '&' : '?'}reason=${encodeURIComponent(reason)}`
}

const deletes = (method: string, url: string): boolean =>
  method === 'DELETE' || (method === 'POST' && /^[^?]*\/pods\/[^/?]+\/eviction(\?|$)/.test(url))
