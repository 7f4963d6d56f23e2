import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import path from 'node:path'
import type { Test } from 'tap'
import { type KubeletServerOptions, startKubeletServer } from '../../../kubelet/http/server.ts'
import { createSimulatedRuntime, type SimulatedExec } from '../../../kubelet/runtime/simulated.ts'
import type { ContainerStatus, Pod } from '../../../shared/api/types.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { issueCertificate, type KeyPair } from '../../../shared/pki/certificate.ts'

const validity = { notBefore: '2020-01-01T00:00:00Z', notAfter: '2100-01-01T00:00:00Z' }
export const ca = issueCertificate({ commonName: 'ca', usage: 'ca', ...validity })
export const otherCa = issueCertificate({ commonName: 'ca', usage: 'ca', ...validity })
export const client = (commonName: string, organization: string, issuer: KeyPair = ca): KeyPair =>
  issueCertificate({ commonName, organizations: [organization], usage: 'client', ...validity }, issuer)
export const apiServer = client('kube-apiserver-kubelet-client', 'system:masters')
const serverPair = issueCertificate(
  { commonName: 'system:node:n', altNames: ['127.0.0.1'], usage: 'server', ...validity },
  ca,
)

export interface Answer {
  code: number
  text: string
}

/** The server over a simulated runtime in which the container `c` of the pod `web` runs. */
export async function startNode(
  t: Test,
  {
    statuses = running,
    exec,
    ...more
  }: Partial<KubeletServerOptions> & { statuses?(id: string): ContainerStatus[]; exec?(): SimulatedExec } = {},
) {
  const runtime = createSimulatedRuntime({ clock: realClock, exec })
  const logPath = path.join(t.testdir(), '0.log')
  writeFileSync(logPath, '')
  const sandbox = await runtime.startSandbox({
    podUid: 'u',
    namespace: 'ns',
    name: 'web',
    hostNetwork: false,
    hostname: 'web',
    shareProcessNamespace: false,
    annotations: {},
  })
  const { id } = await runtime.startContainer({
    sandboxId: sandbox.id,
    name: 'c',
    attempt: 0,
    image: 'x',
    imageId: 'x',
    command: ['x'],
    env: {},
    path: [],
    logPath,
    stdin: false,
    tty: false,
    annotations: {},
  })
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'web', namespace: 'ns', uid: 'u' },
    spec: { containers: [{ name: 'c' }, { name: 'new' }], initContainers: [{ name: 'init' }] },
    status: { containerStatuses: statuses(id) },
  } as unknown as Pod
  const server = await startKubeletServer({
    host: '127.0.0.1',
    port: 0,
    tls: { ...serverPair, clientCa: ca.cert },
    runtime,
    clock: realClock,
    log: { warn: (fields, message) => t.fail(message, fields) },
    pods: () => [pod],
    reviews: async () => ({ userOf: async () => undefined, isAllowed: async () => false }),
    ...more,
  })
  t.teardown(async () => {
    await server.close()
    await runtime.close()
  })
  const open = (url: string, pair: Partial<KeyPair> = apiServer, method = 'GET') =>
    new Promise<IncomingMessage>((resolve, reject) => {
      https
        .request(`https://127.0.0.1:${server.port}${url}`, { ...pair, ca: ca.cert, method, agent: false }, resolve)
        .on('error', reject)
        .end()
    })
  const get = async (url: string, pair?: Partial<KeyPair>, method?: string): Promise<Answer> => {
    const response = await open(url, pair, method)
    const chunks: Buffer[] = []
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
    return { code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }
  }
  const logs = async (query: string) => (await get(`/containerLogs/ns/web/c?${query}`)).text
  return { port: server.port, runtime, id, logPath, open, get, logs }
}

export const running = (id: string): ContainerStatus[] =>
  [{ name: 'c', containerID: `containerd://${id}`, state: { running: {} } }] as unknown as ContainerStatus[]
