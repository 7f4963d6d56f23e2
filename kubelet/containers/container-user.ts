import type { Container, Pod } from '../../shared/api/types.ts'
import { fullName } from '../pod/container-kinds.ts'
import type { ImageRoot, WantedUser } from '../runtime/container-runtime.ts'

/**
 * The user of a container; undefined if neither the container nor its pod names one. The container's fields count
 * before its pod's. Throws where `runAsNonRoot` forbids it. Upstream: pkg/kubelet/kuberuntime security_context.go,
 * verifyRunAsNonRoot.
 */
export function userOf(pod: Pod, container: Container, image?: ImageRoot): WantedUser | undefined {
  const ofPod = pod.spec.securityContext ?? {}
  const { runAsUser: uid, runAsGroup: gid, runAsNonRoot } = { ...ofPod, ...container.securityContext }
  if (runAsNonRoot && uid === 0) {
    const where = `pod: "${fullName(pod)}", container: ${container.name}`
    throw new Error(`container's runAsUser breaks non-root policy (${where})`)
  }
  if (runAsNonRoot && uid === undefined && image) assertNotRoot(image, pod, container)
  const { fsGroup, supplementalGroups = [], supplementalGroupsPolicy } = ofPod
  const groups = [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups]
  if (supplementalGroupsPolicy === 'Strict') return { uid, gid, groups, onlyThese: true }
  return uid === undefined && gid === undefined && groups.length === 0 ? undefined : { uid, gid, groups }
}

function assertNotRoot({ user = '' }: ImageRoot, pod: Pod, { name }: Container): void {
  const [login = ''] = user.split(':')
  const where = `(pod: "${fullName(pod)}", container: ${name})`
  if (login === '' || Number(login) === 0)
    throw new Error(`container has runAsNonRoot and image will run as root ${where}`)
  if (!/^\d+$/.test(login))
    throw new Error(
      `container has runAsNonRoot and image has non-numeric user (${login}), cannot verify user is non-root ${where}`,
    )
}
