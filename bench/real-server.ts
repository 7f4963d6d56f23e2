import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { realClock } from '../shared/clock/real-clock.ts'
import { ensureClusterPki } from '../shared/pki/cluster-pki.ts'
import type { Target } from './http2-connection.ts'
import { handle, ready, type Server } from './processes.ts'

const START_TIMEOUT_MS = 60_000
const HOST = '127.0.0.1'

/**
 * kube-apiserver and etcd, the programs of these names in the folder `bin`, which count as one server. They are set up
 * like ours: TLS, client certificates, RBAC, the admission of a stock server; etcd does not wait for the disk, as our
 * storage in memory does not. Logs are kept in `folder`.
 */
export async function startRealServer({ bin, folder }: { bin: string; folder: string }): Promise<Server> {
  const pkiDir = join(folder, 'pki')
  mkdirSync(pkiDir, { recursive: true })
  const options = { host: HOST, serviceAddress: '10.96.0.1', nodeName: 'unused', nowMs: realClock.now() }
  const { ca, admin, serviceAccountKey } = ensureClusterPki({ ...options, directory: pkiDir })
  await serviceAccountKey.make()
  const [port, clients, peers] = [await freePort(), await freePort(), await freePort()]
  const startedMs = realClock.monotonic()
  const children = [
    start(join(bin, 'etcd'), etcdFlags({ folder, clients, peers }), folder),
    start(join(bin, 'kube-apiserver'), apiServerFlags({ pkiDir, port, etcd: clients }), folder),
  ]
  const server = handle(children, 'SIGTERM')
  const target = { host: HOST, port, ca: ca.cert, cert: admin.cert, key: admin.key }
  try {
    await untilReady(target, children)
  } catch (error) {
    await server.stop()
    throw error
  }
  return { target, readyMs: realClock.monotonic() - startedMs, ...server }
}

function start(program: string, flags: readonly string[], folder: string): ChildProcess {
  const log = openSync(join(folder, `${program.split('/').at(-1)}.log`), 'a')
  const child = spawn(program, flags, { stdio: ['ignore', log, log] })
  closeSync(log)
  process.on('exit', () => child.kill('SIGKILL'))
  return child
}

const urlOf = (port: number): string => `http://${HOST}:${port}`

const etcdFlags = ({ folder, clients, peers }: { folder: string; clients: number; peers: number }): string[] => [
  `--data-dir=${join(folder, 'etcd')}`,
  `--listen-client-urls=${urlOf(clients)}`,
  `--advertise-client-urls=${urlOf(clients)}`,
  `--listen-peer-urls=${urlOf(peers)}`,
  `--initial-advertise-peer-urls=${urlOf(peers)}`,
  `--initial-cluster=default=${urlOf(peers)}`,
  '--unsafe-no-fsync',
  '--quota-backend-bytes=8589934592',
]

const apiServerFlags = ({ pkiDir, port, etcd }: { pkiDir: string; port: number; etcd: number }): string[] => [
  `--etcd-servers=${urlOf(etcd)}`,
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

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, HOST), 'listening')
  const { port } = server.address() as { port: number }
  await once(server.close(), 'close')
  return port
}

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
