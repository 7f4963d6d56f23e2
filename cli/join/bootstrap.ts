import { nodeSubject, requestCertificate } from '../../kubelet/certificates/request-certificate.ts'
import type { BootstrapToken } from '../../shared/api/bootstrap-token.ts'
import { isStatus, StatusError } from '../../shared/api/status/status-error.ts'
import type { Node } from '../../shared/api/types.ts'
import { nodes } from '../../shared/client/resources.ts'
import { type ClusterAccess, createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import type { KeyPair } from '../../shared/pki/certificate.ts'

export interface BootstrapOptions {
  access: Pick<ClusterAccess, 'server' | 'ca'>
  token: BootstrapToken
  nodeName: string
  /** Holds the machine's clock. */
  clock: Clock
}

const approvalMs = 60_000

/** The certificate of a node, asked for by a token. Throws a ConfigError, also where a live node has this name. */
export async function bootstrapNode({ access, token, nodeName, clock }: BootstrapOptions): Promise<KeyPair> {
  const bearer = { ...access, token: `${token.id}.${token.secret}` }
  const pair = await withClient(bearer, clock, (client) => certificateOf(client, { token, nodeName, clock }))
  await withClient({ ...access, ...pair }, clock, (client) => checkIsFree(client, nodeName))
  return pair
}

async function certificateOf(
  client: ServerClient,
  { token, nodeName, clock }: Omit<BootstrapOptions, 'access'>,
): Promise<KeyPair> {
  const late = new AbortController()
  const pending = `certificate request of node ${nodeName} was not approved within ${approvalMs / 1000} s`
  const remedy = 'kubectl get csr shows it; kubectl certificate approve NAME approves it while this command waits'
  const timer = clock.setTimer(approvalMs, () => late.abort(new ConfigError(`${pending}: ${remedy}`)))
  try {
    const signerName = 'kubernetes.io/kube-apiserver-client-kubelet' as const
    return await requestCertificate(client, { signerName, ...nodeSubject(nodeName) }, late.signal)
  } catch (error) {
    throw explained(error as Error, token.id)
  } finally {
    timer.cancel()
  }
}

function explained(error: Error, id: string): Error {
  if (isStatus(error, 'Unauthorized'))
    return new ConfigError(
      `token "${id}" is not for authentication, or has just expired: create one with kubestage token create`,
    )
  if (isStatus(error, 'Forbidden'))
    return new ConfigError(
      `the groups of token "${id}" may not join nodes: create one without --groups (${error.message})`,
    )
  if (error instanceof StatusError) return new ConfigError(`no certificate for this node: ${error.message}`)
  return error
}

/** Two kubelets of one name would fight over its pods. Upstream: cmd/kubeadm/app/cmd/phases/join/kubelet.go. */
async function checkIsFree(client: ServerClient, name: string): Promise<void> {
  const node = await client.get<Node>(nodes, { name }).catch((error: unknown) => {
    if (isStatus(error, 'NotFound')) return undefined
    throw error
  })
  if (!node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return
  throw new ConfigError(
    `node "${name}" already exists and is Ready: choose another name with --node-name, or run kubectl delete node ${name} first`,
  )
}

async function withClient<Result>(
  access: ClusterAccess,
  clock: Clock,
  use: (client: ServerClient) => Promise<Result>,
): Promise<Result> {
  const client = createRestClient({ ...access, clock })
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}
