import { ignoreNotFound, StatusError } from '../../shared/api/status/status-error.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../shared/api/volumes.ts'
import type { Client, ObjectRef, Resource } from '../../shared/client/client.ts'
import { persistentVolumeClaims, persistentVolumes, serviceAccounts } from '../../shared/client/resources.ts'
import type { EnvironmentSources } from '../pod/environment-sources.ts'
import { type ConfigData, VolumeError, type VolumeSources } from './volume-payload.ts'

const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'

export interface VolumeSourcesOptions {
  client: Client
  environment: EnvironmentSources
  podIP(pod: Pod): string
  /** True if pods get tokens; a request for a token costs the server a signature. */
  tokens: boolean
}

/**
 * Returns the sources of volumes: the objects that environment variables come from as well, as bytes, and also tokens
 * and claims.
 */
export function createVolumeSources({ client, environment, podIP, tokens }: VolumeSourcesOptions): VolumeSources {
  const read = <T extends object>(resource: Resource, ref: ObjectRef): Promise<T | undefined> =>
    client.get<T>(resource, ref).catch(ignoreNotFound)
  return {
    async configMap(namespace, name) {
      const found = await environment.configMap(namespace, name)
      return found && bytes([found.data, 'utf8'], [found.binaryData, 'base64'])
    },
    async secret(namespace, name) {
      const found = await environment.secret(namespace, name)
      return found && bytes([found.data, 'base64'])
    },
    async token(pod, { audience, expirationSeconds }) {
      if (!tokens) return undefined
      const { namespace = '', name: podName, uid } = pod.metadata
      const request = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        metadata: {},
        spec: {
          audiences: audience ? [audience] : [],
          expirationSeconds: expirationSeconds ?? 3600,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: podName, uid },
        },
      }
      const name = pod.spec.serviceAccountName ?? 'default'
      try {
        const answer = await client.create<object>(serviceAccounts, request, { namespace, name, subresource: 'token' })
        return (answer as { status?: { token?: string } }).status?.token
      } catch (error) {
        // A server without this subresource: the pod can do without what no server accepts.
        if (error instanceof StatusError && [403, 404, 405].includes(error.code)) return undefined
        throw error
      }
    },
    async claimed(namespace, name) {
      const claim = await read<PersistentVolumeClaim>(persistentVolumeClaims, { namespace, name })
      if (!claim) throw new VolumeError(`persistentvolumeclaim "${name}" not found`)
      const { volumeName } = claim.spec ?? {}
      if (claim.status?.phase !== 'Bound' || !volumeName) throw new VolumeError('PVC is not bound')
      const volume = await read<PersistentVolume>(persistentVolumes, { name: volumeName })
      if (!volume) throw new VolumeError(`persistentvolume "${volumeName}" not found`)
      const { hostPath, local } = volume.spec ?? {}
      const path = hostPath?.path ?? local?.path
      if (path === undefined) throw new VolumeError('no volume plugin matched')
      const provisioned = volume.metadata.annotations?.[PROVISIONED_BY] !== undefined
      return { path, type: hostPath?.type ?? (local && 'Directory'), provisioned }
    },
    allocatable: () => environment.allocatable(),
    addresses: (pod) => ({ podIP: podIP(pod), hostIP: environment.hostIP }),
  }
}

function bytes(...maps: [Record<string, unknown> | undefined, BufferEncoding][]): ConfigData {
  const data: ConfigData = new Map()
  for (const [map, encoding] of maps) {
    for (const [key, value] of Object.entries(map ?? {})) data.set(key, Buffer.from(String(value), encoding))
  }
  return data
}
