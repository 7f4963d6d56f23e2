import type { onRequestAsyncHookHandler } from 'fastify'
import { authorize, type Reviews } from '../access.ts'
import { rootOf } from '../canonical-url.ts'

/** Throws a Problem (401, 403) for a client that may not ask this. */
export const authorization =
  (reviews: () => Promise<Reviews>): onRequestAsyncHookHandler =>
  ({ raw, url }) =>
    authorize(raw, rootOf(url), reviews)
