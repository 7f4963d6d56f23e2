import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Node } from '../../../shared/api/types.ts'
import { nodes, pods } from '../../../shared/client/resources.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { toTime } from '../../../shared/clock/timestamp.ts'
import { issueCertificate } from '../../../shared/pki/certificate.ts'
import { startTestCluster, type TestCluster } from '../../harness/cluster.ts'
import { findKubectls, kubectlSays } from '../../harness/kubectl.ts'
import { followPod, podOf } from '../../harness/pods.ts'
import { type Asker, askerOf, type Credentials, type Question } from './ask.ts'

export const core = '/api/v1/namespaces/default'
export const post = (path: string, body: object): Question => ({ method: 'POST', path, body })
export const merge = (path: string, body: object): Question => ({
  method: 'PATCH',
  path,
  body,
  contentType: 'application/merge-patch+json',
})

export type Client = 'anonymous client' | 'user without a role' | 'pod' | 'node' | 'bootstrap token'

export interface Stage extends TestCluster {
  nodeName: string
  files: string
  admin: Asker
  /** With these credentials at the API server; without any by default. */
  apiServer(who?: Credentials): Asker
  kubelet(who: Credentials): Asker
  credentials: Record<Client, Credentials>
  /** As an administrator; throws when it is not created. */
  make(path: string, body: object): Promise<Record<string, unknown>>
  /** What a shell in a running pod prints. What fails in there is not an error. */
  inPod(name: string, script: string): Promise<string>
  startPod(name: string, command?: string[]): Promise<void>
}

/** A cluster as a user starts it, with a pod `web`, objects named `some`, and the credentials of each client. */
export async function startStage(t: Test): Promise<Stage> {
  const cluster = await startTestCluster(t)
  const { client, stateDir, access, kubeconfig } = cluster
  const [node] = (await client.list<Node & { status: { daemonEndpoints: unknown } }>(nodes)).items
  const endpoints = node?.status.daemonEndpoints as { kubeletEndpoint: { Port: number } }
  const ca = readFileSync(join(stateDir, 'pki/ca.crt'), 'utf8')
  const authority = { cert: ca, key: readFileSync(join(stateDir, 'pki/ca.key'), 'utf8') }
  const certified = (commonName: string, ...organizations: string[]): Credentials => {
    const now = realClock.now()
    const times = { notBefore: toTime(now - 60_000), notAfter: toTime(now + 3_600_000) }
    return issueCertificate({ commonName, organizations, usage: 'client', ...times }, authority)
  }
  const { hostname: host, port } = new URL(access.server)
  const apiServer = (who?: Credentials) => askerOf(t, { host, port: Number(port), ca }, who)
  const admin = apiServer(certified('admin', 'system:masters'))
  const make: Stage['make'] = async (path, body) => {
    const answer = await admin.ask(post(path, body))
    if (answer.status !== 201) throw new Error(answer.body)
    return JSON.parse(answer.body) as Record<string, unknown>
  }
  const [kubectl] = findKubectls().slice(-1)
  if (!kubectl) throw new Error('there is no kubectl')
  const inPod: Stage['inPod'] = (name, script) =>
    kubectlSays(t, kubectl, kubeconfig, ['exec', name, '--', 'sh', '-c', `{ ${script}\n} 2>/dev/null; true`])
  const startPod: Stage['startPod'] = async (name, command = ['sleep', '1000']) => {
    await client.create(pods, podOf({ name, command }), { namespace: 'default' })
    const { until } = await followPod(client, { namespace: 'default', name })
    await until(({ status }) => status?.phase === 'Running', 'to run')
  }
  await startPod('web')
  const token = (await inPod('web', 'cat /var/run/secrets/kubernetes.io/serviceaccount/token')).trim()
  await make(`${core}/secrets`, { metadata: { name: 'some' }, stringData: { password: 'swordfish' } })
  await make(`${core}/configmaps`, { metadata: { name: 'some' } })
  await make('/api/v1/namespaces/kube-system/secrets', joinSecret)
  return {
    ...cluster,
    nodeName: node?.metadata.name ?? '',
    files: node?.metadata.labels?.['kubestage.dev/files'] ?? '',
    admin,
    apiServer,
    kubelet: (who) => askerOf(t, { host: '127.0.0.1', port: endpoints.kubeletEndpoint.Port }, who),
    credentials: {
      'anonymous client': {},
      'user without a role': certified('stranger', 'strangers'),
      pod: { token },
      node: certified('system:node:other', 'system:nodes'),
      'bootstrap token': { token: 'abcdef.0123456789abcdef' },
    },
    make,
    inPod,
    startPod,
  }
}

const joinSecret = {
  metadata: { name: 'bootstrap-token-abcdef' },
  type: 'bootstrap.kubernetes.io/token',
  stringData: {
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-authentication': 'true',
    'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
  },
}
