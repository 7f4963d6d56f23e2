import type { Authorizer } from './types.ts'

/** The page (apiserver/ui) has sessions of its own: browsers bring no credentials of Kubernetes. */
export const uiPaths: Authorizer = {
  authorize: ({ path, verb, resource }) => ({
    verdict: !resource && verb === 'get' && /^\/kubestage\/ui(\/|$)/.test(path) ? 'allow' : 'no opinion',
  }),
}
