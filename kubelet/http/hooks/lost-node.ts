import type { onRequestHookHandler } from 'fastify'
import { upgradeOf } from '../../../shared/http/upgrades.ts'
import { rootOf } from '../canonical-url.ts'
import type { ControlledNode } from '../control-node.ts'

/** Cuts the connection of a request to a node that is lost. Requests that control the node still reach it. */
export const lostNode =
  (node: (() => ControlledNode | undefined) | undefined): onRequestHookHandler =>
  (request, _reply, done) => {
    const controls = rootOf(request.url) === 'debug' && !upgradeOf(request.raw)
    if (!controls && node?.()?.isLost()) request.raw.socket.destroy()
    else done()
  }
