import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ownPort } from '../../cluster/shared-port.ts'
import { type EtcdProgram, freePort, type RunningEtcd, startEtcd } from '../harness/etcd.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { mountSmallDisk } from '../harness/small-disk.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'
import { type Server, ServerProcess } from './server.ts'
import { serversOfOneStore } from './servers-of-one-store.ts'

export type Engine = 'memory' | 'sqlite' | 'etcd'

export interface SubjectOptions {
  storage: Engine
  /** With etcd each is a cluster of its own; else they share the store of the first. Default: one. */
  servers?: number
  /** Of etcd. */
  members?: number
  program?: EtcdProgram
  /** Flags of `kubestage up` for each server. Default: an API server alone, without nodes and control loops. */
  flags?: readonly string[]
  /** Environment of the servers, beside that of the test. */
  variables?: Record<string, string>
}

export interface Member extends RunningEtcd {
  /** A file system of its own that holds its data; undefined where this user may not mount any. */
  disk?: string
}

/** What is under test: API servers, and below them either a file on a small disk or etcd, each behind a link that can be cut. */
export interface Subject {
  storage: Engine
  /** Holds everything; gone with all that runs there when the test is over. */
  folder: string
  servers: readonly Server[]
  /** Empty without etcd. */
  members: readonly Member[]
  /** A file system of its own that holds the file; undefined where this user may not mount any. */
  disk?: string
}

const apiServerAlone = ['--nodes=0', '--controllers=-*', '--scheduler=false']
const diskSize = 'size=64m'
/** etcd sets 128 MB aside for its log. */
const memberDiskSize = 'size=320m'

/** Starts it; resolves when all servers are ready. */
export async function startSubject(t: Pick<Test, 'teardown'>, options: SubjectOptions): Promise<Subject> {
  const { storage, servers: count = 1, flags = apiServerAlone, variables } = options
  const folder = scratchFolder(t, 'robustness')
  const members = storage === 'etcd' ? await startMembers(t, { ...options, folder }) : []
  const place = join(folder, 'disk')
  const disk = storage === 'sqlite' && mountSmallDisk(place, diskSize) ? place : undefined
  if (storage !== 'etcd') {
    const objects = storage === 'memory' ? storage : `sqlite:${join(place, 'state.db')}`
    // The servers' own ports follow it: at these, no connection of another program begins.
    const port = await ownPort({ host: '127.0.0.1', port: 0, apiservers: count }, 1)
    const own = { name: 'cluster', folder, port, variables }
    const all = [`--storage=${objects}`, `--apiservers=${count}`, ...flags]
    const cluster = new ServerProcess({ ...own, flags: all })
    await cluster.start()
    t.teardown(() => cluster.kill())
    const servers = count === 1 ? [cluster] : serversOfOneStore(cluster, count)
    return { storage, folder, servers, members, disk }
  }
  const servers: Server[] = []
  for (let index = 0; index < count; index++) {
    const links = await Promise.all(members.map(({ url }) => startTcpProxy(t, url)))
    const objects = `etcd:${links.map(({ port }) => `http://127.0.0.1:${port}`)}`
    const own = { name: `server-${index}`, folder, port: await freePort(), variables, links }
    const server = new ServerProcess({ ...own, flags: [`--storage=${objects}`, ...flags] })
    // Servers of one cluster have the same certificates.
    if (index > 0) cpSync(join(servers[0]!.stateDir, 'pki'), join(server.stateDir, 'pki'), { recursive: true })
    await server.start()
    t.teardown(() => server.kill())
    servers.push(server)
  }
  return { storage, folder, servers, members, disk }
}

async function startMembers(
  t: Pick<Test, 'teardown'>,
  { members: count = 1, program, folder }: SubjectOptions & { folder: string },
): Promise<Member[]> {
  if (!program) throw new Error('which etcd?')
  if (count === 1) return [await startEtcd(t, program)]
  const peers = await Promise.all(Array.from({ length: count }, async () => `http://127.0.0.1:${await freePort()}`))
  const all = peers.map((url, index) => `member-${index}=${url}`).join()
  // Of flags that are given twice the last holds.
  const start = async (url: string, index: number): Promise<Member> => {
    const peer = ['--listen-peer-urls', url, '--initial-advertise-peer-urls', url]
    const args = ['--name', `member-${index}`, '--initial-cluster', all, ...peer]
    const place = join(folder, `member-${index}`)
    const disk = mountSmallDisk(place, memberDiskSize) ? place : undefined
    return { ...(await startEtcd(t, program, { args, dataDir: join(place, 'data') })), disk }
  }
  return await Promise.all(peers.map(start))
}

/** The member that leads; undefined while there is none. */
export async function leaderOf({ members }: Subject): Promise<RunningEtcd | undefined> {
  for (const member of members) {
    const metrics = await fetch(`${member.url}/metrics`, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.text(),
      () => '',
    )
    if (/^etcd_server_is_leader 1$/m.test(metrics)) return member
  }
  return undefined
}
