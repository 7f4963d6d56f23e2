import type { Container, Pod, PodSpec } from '../../shared/api/types.ts'
import { fieldValue, type NodeAllocatable, type ResourceFieldRef, resourceFieldValue } from '../pod/field-values.ts'
import { onlyUserOf } from '../pod/only-user.ts'
import type { Payload, VolumeFile } from './atomic-writer.ts'

export type Volume = NonNullable<PodSpec['volumes']>[number]
type Projection = NonNullable<NonNullable<Volume['projected']>['sources']>[number]
type Item = { key: string; path: string; mode?: number }
interface DownwardItem {
  path: string
  mode?: number
  fieldRef?: { fieldPath: string }
  resourceFieldRef?: ResourceFieldRef
}

/** Provides the contents of volumes. */
export interface VolumeSources {
  configMap(namespace: string, name: string): Promise<ConfigData | undefined>
  secret(namespace: string, name: string): Promise<ConfigData | undefined>
  /** Resolves to a token for a pod; to undefined if the API server issues no tokens. */
  token(pod: Pod, request: { audience?: string; expirationSeconds?: number }): Promise<string | undefined>
  /**
   * Returns where the volume of a claim is on this machine. Throws a VolumeError while the claim has no volume, or a
   * volume that the kubelet cannot mount.
   */
  claimed(namespace: string, claim: string): Promise<ClaimedVolume>
  allocatable(): NodeAllocatable
  addresses(pod: Pod): { podIP: string; hostIP: string }
}
/** A folder, and what is to be made of it before it is used. */
export interface ClaimedVolume {
  path: string
  type?: string
  /** True if the volume was created for the claim: any user of a container may write there. */
  provisioned: boolean
}
export type ConfigData = Map<string, Buffer>
/** A volume that cannot be set up now; the message is told by an event. */
export class VolumeError extends Error {}

/** An image cannot be mounted; the container that mounts it waits. */
export class ImageVolumeError extends VolumeError {
  constructor({ name, image }: Volume, why: string) {
    super(`ImageVolumeMountFailed: volume "${name}": image "${image?.reference ?? ''}": ${why}`)
  }
}

const DEFAULT_MODE = 0o644

/**
 * The files of a configMap, secret, downwardAPI or projected volume; undefined for other kinds. `charge` is called for
 * each with its length, and may throw.
 */
export async function volumePayload(
  pod: Pod,
  volume: Volume,
  sources: VolumeSources,
  charge: (bytes: number) => void = () => {},
): Promise<Payload | undefined> {
  const { configMap, secret, downwardAPI, projected } = volume
  const payload: Payload = new Map()
  const put: Target['put'] = (path, file) => {
    charge(file.data.length)
    payload.set(path, file)
  }
  const modeOf = (source: { defaultMode?: number }) => source.defaultMode ?? DEFAULT_MODE
  if (configMap) await addConfig(pod, 'configmap', configMap, { put, mode: modeOf(configMap), sources })
  else if (secret) {
    const named = { ...secret, name: secret.secretName }
    await addConfig(pod, 'secret', named, { put, mode: modeOf(secret), sources })
  } else if (downwardAPI) addDownward(pod, downwardAPI.items, { put, mode: modeOf(downwardAPI), sources })
  else if (projected) {
    const target = { put, mode: modeOf(projected), sources }
    for (const source of projected.sources ?? []) await addProjection(pod, source, target)
  } else return undefined
  return payload
}

interface Target {
  put(path: string, file: VolumeFile): void
  mode: number
  sources: VolumeSources
}

async function addProjection(pod: Pod, source: Projection, target: Target): Promise<void> {
  if (source.configMap) await addConfig(pod, 'configmap', source.configMap, target)
  if (source.secret) await addConfig(pod, 'secret', source.secret, target)
  if (source.downwardAPI) addDownward(pod, source.downwardAPI.items, target)
  if (source.serviceAccountToken) {
    const { path, ...request } = source.serviceAccountToken
    const token = await target.sources.token(pod, request)
    if (token !== undefined) target.put(path, { data: Buffer.from(token), ...readersOf(pod, target.mode) })
  }
}

/**
 * If the pod names its user, only that user reads the token; a group may read it by `fsGroup`. Upstream:
 * pkg/volume/projected collectData.
 */
function readersOf(pod: Pod, mode: number): { mode: number; owner?: number } {
  const owner = onlyUserOf(pod)
  const isSaid = owner !== undefined || pod.spec.securityContext?.fsGroup !== undefined
  return { mode: isSaid ? 0o600 : mode, ...(owner !== undefined && { owner }) }
}

async function addConfig(
  pod: Pod,
  kind: 'configmap' | 'secret',
  source: { name?: string; items?: Item[]; optional?: boolean },
  { put, mode, sources }: Target,
): Promise<void> {
  const { namespace = '' } = pod.metadata
  const { name = '', items, optional } = source
  const data = await (kind === 'configmap' ? sources.configMap(namespace, name) : sources.secret(namespace, name))
  if (!data) {
    if (optional) return
    throw new VolumeError(`${kind} "${name}" not found`)
  }
  if (!items) for (const [key, value] of data) put(key, { data: value, mode })
  for (const item of items ?? []) {
    const value = data.get(item.key)
    if (value) put(item.path, { data: value, mode: item.mode ?? mode })
    else if (!optional)
      throw new VolumeError(
        `${kind === 'configmap' ? 'configmap references non-existent config' : 'references non-existent secret'} key: ${item.key}`,
      )
  }
}

function addDownward(pod: Pod, items: DownwardItem[] = [], { put, mode, sources }: Target): void {
  for (const item of items) {
    const text = item.fieldRef
      ? fieldValue(pod, item.fieldRef.fieldPath, sources.addresses(pod))
      : item.resourceFieldRef
        ? resourceFieldValue(pod, pod.spec.containers[0] as Container, item.resourceFieldRef, sources.allocatable())
        : ''
    put(item.path, { data: Buffer.from(text), mode: item.mode ?? mode })
  }
}
