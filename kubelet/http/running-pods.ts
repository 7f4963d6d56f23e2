import type { ContainerRuntime } from '../runtime/container-runtime.ts'

/** The running pods by the runtime alone, as a PodList of few fields. */
export async function runningPods(runtime: ContainerRuntime): Promise<object> {
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
