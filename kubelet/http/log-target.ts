import type { ContainerStatus, Pod } from '../../shared/api/types.ts'
import { Problem } from './problem.ts'

const waitingTexts: Record<string, string> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
}

/**
 * Id of the container instance whose log is meant. Upstream: pkg/kubelet/kubelet_pods.go validateContainerLogStatus.
 */
export function logTarget(pod: Pod, container: string, previous: boolean): string {
  const name = pod.metadata.name
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec
  if (![...containers, ...initContainers, ...ephemeralContainers].some((entry) => entry.name === container)) {
    throw new Problem(404, `container "${container}" not found in pod "${name}"`)
  }
  const where = `container "${container}" in pod "${name}"`
  const status = statuses(pod).find((entry) => entry.name === container)
  if (!status) throw new Problem(400, `${where} is not available`)
  const last = bare(status.lastState?.terminated?.containerID)
  const { waiting, running, terminated } = status.state ?? {}
  if (previous) {
    if (last) return last
    throw new Problem(400, `previous terminated container "${container}" in pod "${name}" not found`)
  }
  const current = running ? bare(status.containerID) : bare(terminated?.containerID)
  if (current) return current
  if (last) return last
  if (terminated) throw new Problem(400, `${where} is terminated`)
  const reason = waiting?.reason ?? ''
  throw new Problem(400, `${where} is waiting to start: ${waitingTexts[reason] ?? reason}`)
}

const statuses = ({ status }: Pod): ContainerStatus[] => [
  ...(status?.containerStatuses ?? []),
  ...(status?.initContainerStatuses ?? []),
  ...(status?.ephemeralContainerStatuses ?? []),
]

/** `containerd://<id>` */
const bare = (containerId: string | undefined): string | undefined => containerId?.split('://').at(-1) || undefined
