import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../../shared/clock/real-clock.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import type { Target } from '../http2-connection.ts'
import { handle, ready, type Server } from '../processes.ts'
import { freePort, HOST, startEtcd, startProgram } from './etcd-server.ts'

const START_TIMEOUT_MS = 240_000

/**
 * kube-apiserver and etcd, the programs of these names in the folder `bin`, which count as one server. They are set up
 * like ours: TLS, client certificates, RBAC, the admission of a stock server; etcd does not wait for the disk, as our
 * storage in memory does not. Logs are kept in `folder`.
 */
export async function startRealServer({ bin, folder }: { bin: string; folder: string }): Promise<Server> {
  const etcd = await startEtcd({ program: join(bin, 'etcd'), folder })
  try {
    const server = await startKubeApiServer({ bin, folder, etcdUrl: etcd.url })
    return {
      target: server.target,
      readyMs: server.readyMs + etcd.readyMs,
      rssMegabytes: () => server.rssMegabytes() + etcd.rssMegabytes(),
      cpuMs: () => server.cpuMs() + etcd.cpuMs(),
      stop: async () => {
        await server.stop()
        await etcd.stop()
      },
    }
  } catch (error) {
    await etcd.stop()
    throw error
  }
}

/** kube-apiserver alone, on this etcd. */
export async function startKubeApiServer(options: { bin: string; folder: string; etcdUrl: string }): Promise<Server> {
  const { bin, folder, etcdUrl } = options
  const pkiDir = join(folder, 'pki')
  mkdirSync(pkiDir, { recursive: true })
  const pki = { host: HOST, serviceAddress: '10.96.0.1', nodeName: 'unused', nowMs: realClock.now() }
  const { ca, admin, serviceAccountKey } = ensureClusterPki({ ...pki, directory: pkiDir })
  await serviceAccountKey.make()
  const port = await freePort()
  const startedMs = realClock.monotonic()
  const child = startProgram(join(bin, 'kube-apiserver'), apiServerFlags({ pkiDir, port, etcdUrl }), folder)
  const server = handle([child], 'SIGTERM')
  const target = { host: HOST, port, ca: ca.cert, cert: admin.cert, key: admin.key }
  try {
    await untilReady(target, [child])
  } catch (error) {
    await server.stop()
    throw error
  }
  return { target, readyMs: realClock.monotonic() - startedMs, ...server }
}

const apiServerFlags = ({ pkiDir, port, etcdUrl }: { pkiDir: string; port: number; etcdUrl: string }): string[] => [
  `--etcd-servers=${etcdUrl}`,
  `--bind-address=${HOST}`,
  `--secure-port=${port}`,
  `--cert-dir=${pkiDir}`,
  `--tls-cert-file=${join(pkiDir, 'apiserver.crt')}`,
  `--tls-private-key-file=${join(pkiDir, 'apiserver.key')}`,
  `--client-ca-file=${join(pkiDir, 'ca.crt')}`,
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${join(pkiDir, 'sa.key')}`,
  `--service-account-signing-key-file=${join(pkiDir, 'sa.key')}`,
  '--service-cluster-ip-range=10.96.0.0/16',
  '--authorization-mode=RBAC',
  '--allow-privileged',
  '--max-requests-inflight=4000',
  '--max-mutating-requests-inflight=2000',
]

async function untilReady(target: Target, children: readonly ChildProcess[]): Promise<void> {
  for (const deadlineMs = realClock.monotonic() + START_TIMEOUT_MS; ; await realClock.sleep(10)) {
    const ended = children.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)
    if (ended) throw new Error(`${ended.spawnfile} ended with ${ended.exitCode ?? ended.signalCode}; see its log`)
    try {
      return void (await ready(target))
    } catch (error) {
      if (realClock.monotonic() > deadlineMs) throw error
    }
  }
}
