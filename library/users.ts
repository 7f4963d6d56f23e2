import type { ApiConstructor, ApiType } from '@kubernetes/client-node'
import type { Clock } from '../shared/clock/clock.ts'
import { toTime } from '../shared/clock/timestamp.ts'
import { issueCertificate, type KeyPair } from '../shared/pki/certificate.ts'
import { kubeconfig } from '../shared/pki/kubeconfig-file.ts'

/**
 * Names the user that the server sees behind a client. Roles decide what the user may do; the group `system:masters`
 * may do everything.
 */
export interface ClusterUser {
  /** Names the user, as `kubectl --as` does. */
  name: string
  /** Lists groups in addition to `system:authenticated`. */
  groups?: readonly string[]
}

/** Gives programs under test access to the cluster. */
export interface Users {
  /** Returns the text of a kubeconfig with a certificate of the user. The user need not exist before. */
  kubeconfigOf(user: ClusterUser): string
  /**
   * Resolves to a client of `@kubernetes/client-node`: `await cluster.apiClient(CoreV1Api)`. Without a user
   * it is the administrator. Rejects if that package is not installed.
   */
  apiClient<Api extends ApiType>(api: ApiConstructor<Api>, user?: ClusterUser): Promise<Api>
}

const dayMs = 86_400_000

/** Creates the access for users. `clock` is the machine's clock. */
export function createUsers({
  server,
  ca,
  admin,
  clock,
}: {
  server: string
  ca: KeyPair
  admin: KeyPair
  clock: Clock
}): Users {
  const textOf = (user: KeyPair): string => JSON.stringify(kubeconfig({ name: 'kubestage', server, ca: ca.cert, user }))
  const kubeconfigOf = ({ name, groups = [] }: ClusterUser): string => {
    const nowMs = clock.now()
    const [notBefore, notAfter] = [toTime(nowMs - dayMs), toTime(nowMs + 365 * dayMs)]
    return textOf(
      issueCertificate({ commonName: name, organizations: groups, usage: 'client', notBefore, notAfter }, ca),
    )
  }
  return {
    kubeconfigOf,
    async apiClient(api, user) {
      const { KubeConfig } = await import('@kubernetes/client-node')
      const config = new KubeConfig()
      config.loadFromString(user ? kubeconfigOf(user) : textOf(admin))
      return config.makeApiClient(api)
    },
  }
}
