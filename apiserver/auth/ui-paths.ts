import type { Authorizer } from './types.ts'

const isOfPage = (verb: string, path: string): boolean =>
  verb === 'get' ? /^\/kubestage\/ui(\/|$)/.test(path) : verb === 'post' && path === '/kubestage/ui/actions'

/** The page (apiserver/ui) has sessions of its own: browsers bring no credentials of Kubernetes. */
export const uiPaths: Authorizer = {
  authorize: ({ path, verb, resource }) => ({
    verdict: !resource && isOfPage(verb, path) ? 'allow' : 'no opinion',
  }),
}
