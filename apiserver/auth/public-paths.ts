import type { Authorizer } from './types.ts'

/** Upstream's roles system:public-info-viewer and system:discovery. */
const forEverybody = ['/healthz', '/livez', '/readyz', '/version', '/version/']
const forAuthenticated = [...forEverybody, '/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*']

/** Health and version for anybody, discovery for whoever has a name. */
export const publicPaths: Authorizer = {
  authorize({ user, verb, path, resource }) {
    const readable = user.groups.includes('system:authenticated') ? forAuthenticated : forEverybody
    const allowed = !resource && verb === 'get' && readable.some((pattern) => matches(pattern, path))
    return { verdict: allowed ? 'allow' : 'no opinion' }
  },
}

function matches(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern
}
