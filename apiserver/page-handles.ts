import type { ApiServerConfig } from './config.ts'
import type { ApiContext } from './http/api-context.ts'
import type { PageHandles } from './http/instruments/routes.ts'

/** The page is loaded by its first request. */
export const pageHandles = (api: ApiContext, config: Pick<ApiServerConfig, 'tls' | 'host'>): PageHandles => ({
  async link(exchange) {
    const { linkTo, siteOf } = await import('./ui/routes.ts')
    return await linkTo(siteOf(api, config), exchange)
  },
  async serve(exchange) {
    const { servePage, siteOf } = await import('./ui/routes.ts')
    await servePage(siteOf(api, config), exchange)
  },
})
