import { StatusError } from '../../shared/api/status-error.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { serviceAccounts } from '../../shared/client/resources.ts'
import type { EnvironmentSources } from '../pods/environment.ts'
import type { ConfigData, VolumeSources } from './volume-payload.ts'

export interface VolumeSourcesOptions {
  client: Client
  environment: EnvironmentSources
  podIP(pod: Pod): string
}

/** The same objects that variables come from, as bytes. */
export function createVolumeSources({ client, environment, podIP }: VolumeSourcesOptions): VolumeSources {
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
