import type { ApiConstructor, ApiType } from '@kubernetes/client-node'
import type { Clock } from '../shared/clock/clock.ts'
import { toTime } from '../shared/clock/timestamp.ts'
import { issueCertificate, type KeyPair } from '../shared/pki/certificate.ts'
import { kubeconfig } from '../shared/pki/kubeconfig-file.ts'

/** The user that a client is to the server. Roles decide what it may; the group `system:masters` may everything. */
export interface ClusterUser {
  name: string
  groups?: readonly string[]
}

/** Ways in for programs under test. */
export interface Users {
  /** The text of a kubeconfig with a certificate of that user, which need not be known before. */
  kubeconfigOf(user: ClusterUser): string
  /**
   * A client of `@kubernetes/client-node`: `await cluster.apiClient(CoreV1Api)`. Default: as the administrator. Rejects
   * when that package is not there.
   */
  apiClient<Api extends ApiType>(api: ApiConstructor<Api>, user?: ClusterUser): Promise<Api>
}

const dayMs = 86_400_000

/** `clock`: the machine's. */
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
