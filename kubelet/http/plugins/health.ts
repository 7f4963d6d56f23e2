import type { FastifyPluginCallback } from 'fastify'
import { sendText } from '../respond.ts'
import { withAllBelow } from './with-all-below.ts'

/** `/healthz`: a kubelet that answers is healthy. */
export const health: FastifyPluginCallback = (app, _options, done) => {
  for (const path of withAllBelow('/healthz')) app.get(path, (_request, reply) => sendText(reply, 200, 'ok'))
  done()
}
