import { HTTPS_PORT } from '../webhook-client/client-config.ts'
import { type APIService, apiServiceName, type GroupVersion } from './api-service.ts'
import type { Priorities } from './priorities.ts'

/** A group version that the server behind a Service serves. */
export interface RemoteApi extends GroupVersion, Priorities {
  name: string
  service: { namespace: string; name: string; port: number }
  /** Holds PEM; undefined: the CAs that this machine trusts. */
  ca: string | undefined
  insecure: boolean
  isAvailable: boolean
}

/** Returns undefined for an APIService whose group version this server serves itself. */
export function remoteApi({ spec, status }: APIService): RemoteApi | undefined {
  const { service, group = '', version = '', caBundle } = spec ?? {}
  // Upstream passes on all of /api for the core group; here it is always served by this server.
  if (!spec || !service || group === '') return undefined
  return {
    name: apiServiceName({ group, version }),
    group,
    version,
    groupPriorityMinimum: spec.groupPriorityMinimum,
    versionPriority: spec.versionPriority,
    service: { namespace: service.namespace ?? '', name: service.name ?? '', port: service.port ?? HTTPS_PORT },
    ca: caBundle ? Buffer.from(caBundle, 'base64').toString('latin1') : undefined,
    insecure: spec.insecureSkipTLSVerify ?? false,
    isAvailable: status?.conditions?.some(({ type, status }) => type === 'Available' && status === 'True') ?? false,
  }
}
