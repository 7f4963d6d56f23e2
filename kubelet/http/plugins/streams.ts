import type { FastifyPluginCallback } from 'fastify'
import { takeOver } from '../../../shared/http/take-over.ts'
import { upgradeOf } from '../../../shared/http/upgrades.ts'
import type { KubeletAppOptions } from '../app-options.ts'
import { failed } from '../failed.ts'
import { notFound } from '../not-found.ts'
import type { StreamRequest, StreamTarget } from '../streaming/serve-stream.ts'

interface StreamRoute {
  Params: StreamTarget
  Querystring: URLSearchParams
}

const paths: Readonly<Record<StreamRequest['verb'], readonly string[]>> = {
  exec: ['/exec/:namespace/:name/:container', '/exec/:namespace/:name/:uid/:container'],
  attach: ['/attach/:namespace/:name/:container', '/attach/:namespace/:name/:uid/:container'],
  portForward: ['/portForward/:namespace/:name', '/portForward/:namespace/:name/:uid'],
}

/** exec, attach and port-forward. With any method where the request is one for another protocol. */
export const streams: FastifyPluginCallback<KubeletAppOptions> = (app, options, done) => {
  for (const verb of Object.keys(paths) as StreamRequest['verb'][]) {
    for (const path of paths[verb]) {
      app.all<StreamRoute>(path, { config: { isStream: true } }, async (request, reply) => {
        const { raw, params: target, query, method } = request
        const wanted = upgradeOf(raw)
        if (!wanted && method !== 'GET' && method !== 'POST') notFound(request)
        const upgrade = wanted && {
          ...wanted,
          request: raw,
          takeOver: () => takeOver(reply).detachSocket(raw.socket),
        }
        // Loaded by the first request: most kubelets never stream.
        const { serveStream } = await import('../streaming/serve-stream.ts')
        await serveStream(options, { verb, target, query, upgrade }).catch(failed(reply))
      })
    }
  }
  done()
}
