/** Fastify refuses it. */
const malformed = '/%'

/**
 * The URL by which Fastify looks for the route. Empty segments do not count, and whatever a client has percent-encoded
 * reads as if it had not; a slash within a segment stays encoded.
 */
export function canonicalUrl({ url = '/' }: { url?: string }): string {
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const query = mark === -1 ? '' : url.slice(mark)
  try {
    const segments = path.split('/').filter(Boolean)
    return `/${segments.map((segment) => encodeURIComponent(decodeURIComponent(segment))).join('/')}${query}`
  } catch {
    return malformed
  }
}

/** Returns the first segment of a canonical URL's path. */
export const rootOf = (url: string): string => url.split(/[/?]/, 2)[1] ?? ''
