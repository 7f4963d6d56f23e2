import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type EtcdProgram, freePort } from './etcd.ts'
import { etcdctl } from './etcd-tools.ts'
import { scratchFolder } from './scratch.ts'
import { until } from './until.ts'

interface Member {
  name: string
  url: string
  peer: string
  dataDir: string
  process?: ChildProcess
}
interface Status {
  Endpoint: string
  Status: { header: { member_id: string }; leader: string }
}

/** An etcd cluster of several members, each a process. */
export class EtcdMembers {
  readonly #program: EtcdProgram
  readonly #folder: string
  readonly #members: Member[] = []

  private constructor(program: EtcdProgram, folder: string) {
    this.#program = program
    this.#folder = folder
  }

  static async start(t: Test, program: EtcdProgram, count: number): Promise<EtcdMembers> {
    const cluster = new EtcdMembers(program, scratchFolder(t, 'etcd-members'))
    t.teardown(() => Promise.all(cluster.#members.map((member) => cluster.#kill(member))))
    for (let index = 0; index < count; index++) cluster.#members.push(await cluster.#place(`m${index}`))
    for (const member of cluster.#members) cluster.#spawn(member, 'new')
    await cluster.#healthy(cluster.#members)
    return cluster
  }

  /** Of all members, those that are down among them. */
  get urls(): string[] {
    return this.#members.map(({ url }) => url)
  }

  async leader(): Promise<string> {
    return await until(
      async () => {
        const statuses = await this.#statuses()
        return statuses.find(({ Status: { header, leader } }) => header.member_id === leader)?.Endpoint
      },
      { what: 'a leader' },
    )
  }

  async kill(url: string): Promise<void> {
    await this.#kill(this.#of(url))
  }

  /** Resolves when it is healthy again. */
  async startAgain(url: string): Promise<void> {
    const member = this.#of(url)
    this.#spawn(member, 'existing')
    await this.#healthy([member])
  }

  /** Takes one out for good. */
  async remove(url: string): Promise<void> {
    const member = this.#of(url)
    const [other] = this.#members.filter((each) => each !== member)
    const lines = (await etcdctl(other!, 'member', 'list')).split('\n')
    const [id = ''] = lines.find((line) => line.includes(member.peer))?.split(',') ?? []
    await this.#change(other!, 'remove', id)
    await this.#kill(member)
    this.#members.splice(this.#members.indexOf(member), 1)
  }

  /** Resolves to the URL of a new member when it is healthy. */
  async add(name: string): Promise<string> {
    const member = await this.#place(name)
    await this.#change(this.#members[0]!, 'add', name, `--peer-urls=${member.peer}`)
    this.#members.push(member)
    this.#spawn(member, 'existing')
    await this.#healthy([member])
    return member.url
  }

  /** etcd refuses while members have not known one another for some seconds. */
  async #change(by: Member, ...args: string[]): Promise<void> {
    const done = (): Promise<boolean> =>
      etcdctl(by, 'member', ...args).then(
        () => true,
        () => false,
      )
    await until(done, { what: `etcdctl member ${args.join(' ')}` })
  }

  #of(url: string): Member {
    return this.#members.find((member) => member.url === url)!
  }

  async #place(name: string): Promise<Member> {
    const [url, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`)
    return { name, url: url!, peer: peer!, dataDir: join(this.#folder, name) }
  }

  #spawn(member: Member, state: 'new' | 'existing'): void {
    const { name, url, peer, dataDir } = member
    const all = this.#members.map((each) => `${each.name}=${each.peer}`).join(',')
    const args = [
      ...['--name', name, '--data-dir', dataDir, '--initial-cluster', all, '--initial-cluster-state', state],
      ...['--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--heartbeat-interval', '100', '--election-timeout', '1000', '--logger', 'zap', '--log-level', 'error'],
    ]
    member.process = spawn(this.#program.file, args, { stdio: 'ignore', env: { PATH: process.env.PATH } })
  }

  async #kill({ process }: Member): Promise<void> {
    if (!process || process.exitCode !== null || process.signalCode !== null) return
    process.kill('SIGKILL')
    await once(process, 'exit')
  }

  async #healthy(members: readonly Member[]): Promise<void> {
    for (const member of members)
      await until(
        () =>
          etcdctl(member, 'endpoint', 'health').then(
            () => true,
            () => false,
          ),
        { what: `member ${member.name} to be healthy`, timeoutMs: 180_000 },
      )
  }

  async #statuses(): Promise<Status[]> {
    const asked = this.#members.map((member) => etcdctl(member, 'endpoint', 'status', '-w', 'json').catch(() => '[]'))
    // Their numbers are beyond 2⁵³.
    return (await Promise.all(asked)).flatMap((text) => {
      const json = /^\[.*\]$/m.exec(text)?.[0] ?? '[]'
      return JSON.parse(json.replace(/"(member_id|leader)":(\d+)/g, '"$1":"$2"')) as Status[]
    })
  }
}
