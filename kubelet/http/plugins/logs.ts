import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { FastifyPluginCallback, FastifyReply } from 'fastify'
import { takeOver } from '../../../shared/http/take-over.ts'
import type { KubeletAppOptions } from '../app-options.ts'
import { containerLogs } from '../container-logs.ts'
import { failed } from '../failed.ts'
import { logOptions } from '../log-options.ts'
import { logTarget } from '../log-target.ts'
import { Problem } from '../problem.ts'
import { withAllBelow } from './with-all-below.ts'

interface LogRoute {
  Params: { namespace: string; name: string; container: string }
  Querystring: URLSearchParams
}

/** `/containerLogs/<namespace>/<pod>/<container>`, with `?follow=true` for as long as the container runs. */
export const logs: FastifyPluginCallback<KubeletAppOptions> = (app, { runtime, clock, pods }, done) => {
  for (const path of withAllBelow('/containerLogs')) app.get(path, missingContainer)
  for (const path of withAllBelow('/containerLogs/:namespace/:name/:container')) {
    app.get<LogRoute>(path, async ({ params: { namespace, name, container }, query, raw }, reply) => {
      const options = logOptions(query, clock.now())
      const pod = pods().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
      if (!pod) throw new Problem(404, `pod "${name}" does not exist`)
      const containerId = logTarget(pod, container, options.previous)
      const record = (await runtime.list()).containers.find(({ id }) => id === containerId)
      if (!record) throw new Problem(400, `unable to retrieve container logs for containerd://${containerId}`)
      const { logPath } = record
      await stream(raw, reply, (signal) => containerLogs({ runtime, containerId, logPath, options, signal }))
    })
  }
  done()
}

function missingContainer(): never {
  throw new Problem(400, '{"message": "Missing container name."}')
}

async function stream(
  request: IncomingMessage,
  reply: FastifyReply,
  open: (signal: AbortSignal) => AsyncIterable<Buffer>,
): Promise<void> {
  const gone = new AbortController()
  const response = takeOver(reply)
  request.on('close', () => gone.abort())
  response.on('close', () => gone.abort())
  response.writeHead(200, { 'content-type': 'text/plain' })
  response.flushHeaders()
  await pipeline(open(gone.signal), response).catch((error: Error) => {
    if (!gone.signal.aborted) failed(reply)(error)
  })
}
