import type { Pod } from '../../../shared/api/types.ts'
import type { ContainerRecord, ContainerRuntime, Sandbox } from '../../runtime/container-runtime.ts'
import { Problem } from '../problem.ts'

/** Finds the pod of `/<verb>/<namespace>/<pod>[/<uid>]…`. Throws a Problem with code 404 if it does not exist. */
export function findPod(pods: Pod[], { namespace, name, uid }: { namespace: string; name: string; uid?: string }): Pod {
  const pod = pods.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  if (!pod) throw new Problem(404, 'pod does not exist')
  if (uid && pod.metadata.uid !== uid) throw new Problem(404, 'pod not found')
  return pod
}

/** Returns the newest instance of the container. Throws a Problem with code 500 if there is none or it does not run. */
export async function findRunningContainer(
  runtime: ContainerRuntime,
  { metadata }: Pod,
  name: string,
): Promise<ContainerRecord> {
  const { containers } = await runtime.list()
  const container = containers.findLast((entry) => entry.podUid === metadata.uid && entry.name === name)
  if (!container) throw new Problem(500, `container not found ("${name}")`)
  if (container.state !== 'running') throw new Problem(500, 'container is in CONTAINER_EXITED state')
  return container
}

export async function findSandbox(runtime: ContainerRuntime, { metadata }: Pod): Promise<Sandbox> {
  const { sandboxes } = await runtime.list()
  const sandbox = sandboxes.findLast((entry) => entry.podUid === metadata.uid && entry.state === 'ready')
  if (!sandbox) throw new Problem(500, `pod not found ("${metadata.name}_${metadata.namespace}")`)
  return sandbox
}
