import type { FastifyPluginCallback, RouteHandlerMethod } from 'fastify'
import { contentType } from '../../../shared/metrics/exposition.ts'
import type { KubeletAppOptions } from '../app-options.ts'
import type { MetricsPages } from '../metrics/pages.ts'
import { pageNotFound } from '../not-found.ts'
import { sendJson } from '../respond.ts'

/** `/metrics`, its pages, and `/stats/summary`. */
export const metrics: FastifyPluginCallback<KubeletAppOptions> = (app, options, done) => {
  const { metrics: sources } = options
  if (!sources) return done()
  let made: Promise<MetricsPages> | undefined
  /** Made with the first request, as most kubelets never see one. */
  const pages = (): Promise<MetricsPages> => {
    made ??= import('../metrics/pages.ts').then(({ MetricsPages }) => new MetricsPages({ ...options, ...sources }))
    return made
  }
  const page: RouteHandlerMethod = async ({ params }, reply) => {
    const text = await (await pages()).page((params as { page?: string }).page)
    if (text === undefined) throw pageNotFound()
    return reply.type(contentType).header('x-content-type-options', 'nosniff').send(text)
  }
  app.get('/metrics', page)
  app.get('/metrics/:page', page)
  app.get('/stats/summary', async (_request, reply) => sendJson(reply, await (await pages()).summary()))
  done()
}
