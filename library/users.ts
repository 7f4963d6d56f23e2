import type { ApiConstructor, ApiType, KubeConfig } from '@kubernetes/client-node'
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
   * Resolves to a KubeConfig of `@kubernetes/client-node`, which makes clients, watches and informers. Without a user it
   * is the administrator's. Rejects if that package is not installed.
   */
  kubeConfig(user?: ClusterUser): Promise<KubeConfig>
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
  const kubeConfig = async (user?: ClusterUser): Promise<KubeConfig> => {
    const { KubeConfig } = await import('@kubernetes/client-node').catch(explainMissing)
    const config = new KubeConfig()
    config.loadFromString(user ? kubeconfigOf(user) : textOf(admin))
    return config
  }
  return {
    kubeconfigOf,
    kubeConfig,
    apiClient: async (api, user) => (await kubeConfig(user)).makeApiClient(api),
  }
}

function explainMissing(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  const message = '@kubernetes/client-node is not installed: run npm install --save-dev @kubernetes/client-node'
  throw new Error(message, { cause: error })
}
