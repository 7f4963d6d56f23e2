import { ignoring } from '../../shared/api/status/status-error.ts'
import type { Node, Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'
import { CONFIG } from '../pod/static-pod.ts'
import { mirrorOf } from './manifest.ts'

export interface MirrorPodsOptions {
  client: Client
  /** The API's pod of this name, if there is one. */
  find(pod: Pod): Pod | undefined
  /** This node, as far as it is registered. */
  node(): Node | undefined
  onError(error: unknown, pod: Pod): void
}
/** Keeps mirror pods up to date, in the background. */
export interface MirrorPods {
  /** There shall be one, of this pod as it is now. */
  ensure(pod: Pod): void
  /** There shall be none. */
  remove(mirror: Pod): void
}

/**
 * Creates and deletes mirror pods, with one request at a time for each name. Upstream:
 * pkg/kubelet/pod/mirror_client.go.
 */
export function createMirrorPods({ client, find, node, onError }: MirrorPodsOptions): MirrorPods {
  const busy = new Map<string, Promise<void>>()

  /** Runs one request at a time for each name. */
  function enqueue(pod: Pod, work: () => Promise<void>): void {
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`
    const next = (busy.get(name) ?? Promise.resolve()).then(work).catch((error) => onError(error, pod))
    busy.set(name, next)
    void next.then(() => busy.get(name) === next && busy.delete(name))
  }

  async function removeNow({ metadata }: Pod): Promise<void> {
    const ref = { namespace: metadata.namespace, name: metadata.name ?? '' }
    await client
      .delete(pods, ref, { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } })
      .catch(ignoring('NotFound', 'Conflict'))
  }

  async function ensureNow(pod: Pod): Promise<void> {
    const mirror = find(pod)
    if (mirror && isPictureOf(mirror, pod) && !mirror.metadata.deletionTimestamp) return
    if (mirror) await removeNow(mirror)
    const { metadata } = node() ?? {}
    if (!metadata) return
    const owner = { name: metadata.name ?? '', uid: metadata.uid ?? '' }
    await client
      .create<Pod>(pods, mirrorOf(pod, owner), { namespace: pod.metadata.namespace })
      .catch(ignoring('AlreadyExists'))
  }

  return {
    ensure: (pod) => enqueue(pod, () => ensureNow(pod)),
    remove: (mirror) => enqueue(mirror, () => removeNow(mirror)),
  }
}

export const isPictureOf = (mirror: Pod, pod: Pod): boolean =>
  mirror.metadata.annotations?.[CONFIG.mirror] === pod.metadata.annotations?.[CONFIG.hash]
