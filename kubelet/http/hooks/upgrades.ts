import type { onRequestHookHandler } from 'fastify'
import { upgradeOf } from '../../../shared/http/upgrades.ts'
import { pageNotFound } from '../not-found.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True if the route may change the protocol of a connection. */
    isStream?: boolean
  }
}

/** Throws a Problem (404) where a connection is wanted for another protocol by a route that has none. */
export const upgrades: onRequestHookHandler = ({ raw, routeOptions }, _reply, done) => {
  if (upgradeOf(raw) && !routeOptions.config.isStream) throw pageNotFound()
  done()
}
