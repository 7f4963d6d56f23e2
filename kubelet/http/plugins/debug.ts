import type { FastifyPluginCallback } from 'fastify'
import type { KubeletAppOptions } from '../app-options.ts'
import { controlNode, putUnderPressure } from '../control-node.ts'
import { moveClock } from '../move-clock.ts'
import { sendJson, sendText } from '../respond.ts'

interface DebugRoute {
  Params: { word: string }
  Querystring: URLSearchParams
}

/**
 * Serves the paths that Kubestage's own commands use: the node's images, its clock, its life and its resource pressure.
 */
export const debug: FastifyPluginCallback<KubeletAppOptions> = (app, { images, time, node }, done) => {
  app.all<DebugRoute>('/debug/images', async ({ method, query, raw }, reply) => {
    // Loaded by the first request: most kubelets never see one.
    const { controlImages } = await import('../image-controls.ts')
    return sendJson(reply, await controlImages({ method, query, body: raw }, images))
  })
  app.all<DebugRoute>('/debug/clock', async ({ method, query }, reply) =>
    sendJson(reply, await moveClock({ method, query }, time)),
  )
  app.all<DebugRoute>('/debug/node/:word', async ({ method, params: { word } }, reply) => {
    await controlNode({ method, word }, node?.())
    return sendText(reply, 200, 'ok')
  })
  app.all<DebugRoute>('/debug/pressure/:word', async ({ method, params: { word }, query }, reply) => {
    putUnderPressure({ method, word, query }, node?.())
    return sendText(reply, 200, 'ok')
  })
  done()
}
