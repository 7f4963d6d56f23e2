import type { Duplex } from 'node:stream'
import type { FastifyPluginCallback } from 'fastify'
import { takeOver } from '../../../shared/http/take-over.ts'
import { upgradeOf } from '../../../shared/http/upgrades.ts'
import type { KubeletAppOptions } from '../app-options.ts'
import { pageNotFound } from '../not-found.ts'
import { Problem } from '../problem.ts'

interface PodAddressRoute {
  Params: { address: string; port: string }
}

const CONNECT_MS = 10_000

/**
 * Joins a client to a port of a pod in the network of this node, which the client may not reach otherwise. A refusal
 * has the code of a socket's error in the header `Kubestage-Error`.
 */
export const podAddresses: FastifyPluginCallback<KubeletAppOptions> = (app, { runtime: { network } }, done) => {
  app.get<PodAddressRoute>('/podAddress/:address/:port', { config: { isStream: true } }, async (request, reply) => {
    const { raw, params } = request
    const upgrade = upgradeOf(raw)
    const { address: host, port } = params
    if (!upgrade || !/^\d{1,5}$/.test(port) || !network?.pods.has(host)) throw pageNotFound()
    const to = { host, port: Number(port), timeoutMs: CONNECT_MS }
    const inner = await network.connect(to).catch(({ message, code = '' }: NodeJS.ErrnoException) => {
      throw new Problem(503, message, { 'Kubestage-Error': code })
    })
    const { socket, head } = upgrade
    takeOver(reply).detachSocket(raw.socket)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
    inner.write(head)
    tie(socket, inner)
    tie(inner, socket)
  })
  done()
}

/** Neither side outlives the other. */
function tie(from: Duplex, to: Duplex): void {
  from.pipe(to)
  from.on('error', () => from.destroy())
  from.on('close', () => (from.readableEnded ? to.end() : to.destroy()))
}
