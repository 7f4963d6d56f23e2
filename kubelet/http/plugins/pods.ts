import type { FastifyPluginCallback } from 'fastify'
import type { ContainerRuntime } from '../../runtime/container-runtime.ts'
import type { KubeletAppOptions } from '../app-options.ts'
import { sendJson } from '../respond.ts'
import { withAllBelow } from './with-all-below.ts'

/** `/pods` as the API shows them, `/runningpods` as the runtime does, and `/configz`. */
export const pods: FastifyPluginCallback<KubeletAppOptions> = (app, { runtime, configz, ...options }, done) => {
  for (const path of withAllBelow('/pods')) {
    app.get(path, (_request, reply) =>
      sendJson(reply, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: options.pods() }),
    )
  }
  for (const path of withAllBelow('/runningpods')) {
    app.get(path, async (_request, reply) => sendJson(reply, await runningPods(runtime)))
  }
  if (configz) app.get('/configz', ({ socket }, reply) => sendJson(reply, configz(socket.localPort ?? 0)))
  done()
}

/** Returns the running pods as a PodList with few fields. Only the runtime is asked. */
async function runningPods(runtime: ContainerRuntime): Promise<object> {
  const { sandboxes, containers } = await runtime.list()
  const items = sandboxes
    .map(({ id, name, namespace, podUid }) => ({
      metadata: { name, namespace, uid: podUid },
      spec: {
        containers: containers
          .filter(({ sandboxId, state }) => sandboxId === id && state === 'running')
          .map(({ name, image }) => ({ name, image, resources: {} })),
      },
      status: {},
    }))
    .filter(({ spec }) => spec.containers.length > 0)
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items }
}
