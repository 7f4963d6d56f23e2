import type { ContainerRuntime } from '../runtime/container-runtime.ts'

/** Returns the running pods as a PodList with few fields. Only the runtime is asked. */
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
