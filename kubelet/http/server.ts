import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { OrderedResponse, type Serve, serveUpgrades } from '../../shared/http/upgrades.ts'
import type { KubeletAppOptions } from './app-options.ts'

export interface KubeletServerOptions extends KubeletAppOptions {
  host: string
  /** 0 takes a free one. */
  port: number
  /** Holds PEM texts. */
  tls: { cert: string; key: string; clientCa: string }
}
export interface KubeletServer {
  port: number
  /** Connections from now on get this certificate. */
  useCertificate(pair: { cert: string; key: string }): void
  close(): Promise<void>
}

/** Starts the kubelet's own HTTPS API. Rejects if the port is in use. */
export async function startKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  const { cert, key, clientCa } = options.tls
  const tls = { cert, key, ca: clientCa, requestCert: true, rejectUnauthorized: false }
  const server = createServer({ ServerResponse: OrderedResponse, ...tls })
  let app: Promise<FastifyInstance> | undefined
  /** The application is built with the first request: most kubelets never see one, and Fastify takes 7 MB. */
  const serve: Serve = (request, response) => {
    app ??= import('./app.ts').then(({ buildKubeletApp }) => buildKubeletApp(options, server))
    app.then(
      ({ routing }) => routing(request, response),
      (error: unknown) => {
        options.log.warn({ err: error }, 'the HTTPS API could not be built')
        request.socket.destroy()
      },
    )
  }
  server.on('request', serve)
  serveUpgrades(server, serve)
  const upgraded = new Set<Duplex>()
  server.on('upgrade', (_request, socket) => {
    upgraded.add(socket)
    socket.on('close', () => upgraded.delete(socket))
  })
  await once(server.listen(options.port, options.host), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    useCertificate: (pair) => server.setSecureContext({ ...pair, ca: clientCa }),
    async close() {
      server.closeAllConnections()
      for (const socket of upgraded) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await (await app)?.close()
    },
  }
}
