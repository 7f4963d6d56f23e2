import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { EtcdClient } from '../../apiserver/storage/etcd/client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { handle, type Server } from '../processes.ts'

export const HOST = '127.0.0.1'
const START_TIMEOUT_MS = 240_000

export interface Etcd extends Omit<Server, 'target'> {
  url: string
  dataFolder: string
}

/** An empty etcd that does not wait for the disk. It keeps its files and its log in `folder`. */
export async function startEtcd({ program, folder }: { program: string; folder: string }): Promise<Etcd> {
  const [clients, peers] = [await freePort(), await freePort()]
  const startedMs = realClock.monotonic()
  const child = startProgram(program, etcdFlags({ folder, clients, peers }), folder)
  const etcd = handle([child], 'SIGTERM')
  const client = new EtcdClient({ endpoints: [urlOf(clients)], clock: realClock })
  const exited = once(child, 'exit').then(() => Promise.reject(new Error(`${program} ended; see its log in ${folder}`)))
  exited.catch(() => {})
  try {
    const answer = client.call('range', { key: 'a' }, { isRepeatable: true, timeoutMs: START_TIMEOUT_MS })
    await Promise.race([answer, exited])
  } catch (error) {
    await etcd.stop()
    throw error
  } finally {
    client.close()
  }
  const readyMs = realClock.monotonic() - startedMs
  return { url: urlOf(clients), dataFolder: join(folder, 'etcd'), readyMs, ...etcd }
}

/** A program whose output is kept in `folder`; it ends with this process. */
export function startProgram(program: string, flags: readonly string[], folder: string): ChildProcess {
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

export async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, HOST), 'listening')
  const { port } = server.address() as { port: number }
  await once(server.close(), 'close')
  return port
}
