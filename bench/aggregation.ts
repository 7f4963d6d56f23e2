/** What a request to the sample API server of upstream takes through ours, and directly. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../shared/clock/real-clock.ts'
import { freePort, startEtcd, startProgram } from './compare/etcd-server.ts'
import { beside } from './cost.ts'
import { Http2Connection, type Request, type Target } from './http2-connection.ts'
import { load } from './load.ts'
import { prepare } from './measure.ts'
import { handle, type Server } from './processes.ts'
import type { Row } from './report.ts'

const bin = join(import.meta.dirname, '..', 'test', 'toolchains', 'bin')
const programs = {
  server: join(bin, 'sample-apiserver'),
  etcd: join(bin, 'server'),
}
const GROUP = '/apis/wardle.example.com/v1alpha1'
const COUNT = 500
const TIMEOUT_MS = 120_000
const GOAL = 1.5

/** Says why it cannot be measured here; undefined if it can. */
export const whyNoAggregation = (): string | undefined =>
  Object.values(programs).every(existsSync)
    ? undefined
    : 'aggregation needs the sample API server and etcd in test/toolchains/bin, which .ci/run builds'

/** Measures gets and creates in turns, one at a time; the first round warms up. */
export async function measureAggregation(
  { target }: Server,
  { folder, rounds }: { /** The state folder of our server. */ folder: string; rounds: number },
): Promise<Row[]> {
  const sample = await startSample(folder)
  try {
    await prepare(target)
    const direct: Target = { ...target, port: sample.port, rejectUnauthorized: false }
    await answers(direct, { method: 'GET', path: GROUP }, 'APIResourceList')
    await announce(target, sample.port)
    const flunder = (name: string): Request => post(`${GROUP}/namespaces/bench/flunders`, { metadata: { name } })
    await answers(target, flunder('stored'), 'Flunder')
    const times = { get: { through: [], direct: [] }, create: { through: [], direct: [] } } as Record<
      'get' | 'create',
      Record<'through' | 'direct', number[]>
    >
    for (let round = 0; round <= rounds; round++) {
      for (const [way, to] of Object.entries({ direct, through: target }) as ['through' | 'direct', Target][]) {
        const requests = {
          get: (): Request => ({ method: 'GET', path: `${GROUP}/namespaces/bench/flunders/stored` }),
          create: (i: number) => flunder(`${way}-${round}-${i}`),
        }
        for (const verb of ['get', 'create'] as const) {
          const { p50Ms } = await load(to, { count: COUNT, connections: 1, request: requests[verb] })
          if (round > 0) times[verb][way].push(p50Ms)
        }
      }
    }
    return (['get', 'create'] as const).map((verb) =>
      beside(`${verb} by aggregation, and directly`, times[verb].through, times[verb].direct, GOAL, 'ms'),
    )
  } finally {
    await sample.stop()
  }
}

async function startSample(folder: string): Promise<Pick<Server, 'stop'> & { port: number }> {
  const etcd = await startEtcd({ program: programs.etcd, folder })
  const port = await freePort()
  const kubeconfig = join(folder, 'kubeconfig')
  const flags = [
    `--etcd-servers=${etcd.url}`,
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, 'certificates')}`,
    ...['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map((flag) => `--${flag}=${kubeconfig}`),
  ]
  const server = handle([startProgram(programs.server, flags, folder)], 'SIGKILL')
  const stop = async (): Promise<void> => {
    await server.stop()
    await etcd.stop()
  }
  return { port, stop }
}

const post = (path: string, object: object): Request => ({
  method: 'POST',
  path,
  contentType: 'application/json',
  body: Buffer.from(JSON.stringify(object)),
})

async function announce(target: Target, port: number): Promise<void> {
  const metadata = { name: 'api', namespace: 'bench' }
  const spec = {
    group: 'wardle.example.com',
    version: 'v1alpha1',
    groupPriorityMinimum: 1000,
    versionPriority: 15,
    insecureSkipTLSVerify: true,
    service: { namespace: 'bench', name: 'api', port },
  }
  const requests = [
    post('/api/v1/namespaces/bench/services', { metadata, spec: { type: 'ExternalName', externalName: 'localhost' } }),
    post('/apis/apiregistration.k8s.io/v1/apiservices', { metadata: { name: 'v1alpha1.wardle.example.com' }, spec }),
  ]
  for (const request of requests) await one(target, request)
}

async function one(target: Target, request: Request): Promise<string> {
  const connection = await Http2Connection.open(target)
  const { beginning } = await connection.request(request).finally(() => connection.close())
  return beginning
}

/** Asks again until the answer is an object of this kind. */
async function answers(target: Target, request: Request, kind: string): Promise<void> {
  for (const deadlineMs = realClock.monotonic() + TIMEOUT_MS; ; await realClock.sleep(100)) {
    const answer = await one(target, request).catch((error: Error) => error.message)
    if (answer.startsWith(`{"kind":"${kind}"`)) return
    if (realClock.monotonic() > deadlineMs) throw new Error(`no ${kind}, but ${answer}`)
  }
}
