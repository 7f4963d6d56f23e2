/** `kubestage up --apiservers 3` without etcd: the first server holds the store, and any of them may be killed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ConfigMap } from '../../shared/api/types.ts'
import { configMaps } from '../../shared/client/resources.ts'
import { createRestClient, type ServerClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startCommand, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { processesWith } from '../harness/processes.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const alone = ['--apiservers=3', '--nodes=0', '--controllers=-*', '--scheduler=false']

interface Told {
  pid: number
  url: string
  ownUrl: string
  otherServers: { url: string; pid?: number }[]
}
const told = ({ stateDir }: Pick<TestCluster, 'stateDir'>): Told =>
  JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8'))

/** A client of each server, the holder's first. */
function clientsOf(t: Test, cluster: TestCluster): ServerClient[] {
  const { ownUrl, otherServers } = told(cluster)
  return [ownUrl, ...otherServers.map((other) => other.url)].map((server) => {
    const client = createRestClient({ ...cluster.access, server, clock: realClock, requestTimeoutMs: 20_000 })
    t.teardown(() => client.close())
    return client
  })
}

const create = (client: ServerClient, name: string): Promise<ConfigMap> =>
  client.create<ConfigMap>(configMaps, { metadata: { name } }, { namespace })

/** Follows the names of ConfigMaps as a server tells of them, again after the last one when its watch ends. */
function follow(t: Test, client: ServerClient, resourceVersion: string): string[] {
  const names: string[] = []
  const over = new AbortController()
  t.teardown(() => over.abort())
  const run = async (): Promise<void> => {
    let after = resourceVersion
    while (!over.signal.aborted) {
      try {
        const query = { namespace, resourceVersion: after, signal: over.signal }
        for await (const { object } of client.watch<ConfigMap>(configMaps, query)) {
          after = object.metadata.resourceVersion!
          names.push(object.metadata.name!)
        }
      } catch {
        await realClock.sleep(50)
      }
    }
  }
  void run()
  return names
}

/** Creates one object after another at a server until it is stopped: resolves to those that were acknowledged. */
function write(client: ServerClient, prefix: string): { acknowledged: string[]; stop(): Promise<void> } {
  const acknowledged: string[] = []
  let isOver = false
  const run = async (): Promise<void> => {
    for (let index = 0; !isOver; index++) {
      const name = `${prefix}-${index}`
      await create(client, name).then(
        () => acknowledged.push(name),
        () => realClock.sleep(20),
      )
    }
  }
  const running = run()
  return {
    acknowledged,
    async stop() {
      isOver = true
      await running
    },
  }
}

const namesAt = async (client: ServerClient): Promise<string[]> =>
  (await client.list<ConfigMap>(configMaps, { namespace })).items.map(({ metadata }) => metadata.name!)

for (const engine of ['memory', 'sqlite'] as const) {
  await t.test(`three servers on one store in ${engine}`, async (t) => {
    const file = join(scratchFolder(t, 'store'), 'state.db')
    const cluster = await startTestCluster(t, ...alone, `--storage=${engine === 'memory' ? engine : `sqlite:${file}`}`)
    const clients = clientsOf(t, cluster)
    const [first, second, third] = clients as [ServerClient, ServerClient, ServerClient]
    const { metadata } = await first.list(configMaps, { namespace })
    const followed = clients.map((client) => follow(t, client, metadata.resourceVersion!))

    await t.test('each shows at once what another has acknowledged, and tells of all in one order', async (t) => {
      for (let round = 0; round < 30; round++) {
        const [writer, reader] = [clients[round % 3]!, clients[(round + 1) % 3]!]
        const { metadata } = await create(writer, `round-${round}`)
        const seen = await reader.get<ConfigMap>(configMaps, { namespace, name: `round-${round}` })
        t.equal(seen.metadata.resourceVersion, metadata.resourceVersion)
      }
      const all = Array.from({ length: 30 }, (_, round) => `round-${round}`)
      await until(() => followed.every(({ length }) => length === all.length), { what: 'the events' })
      for (const names of followed) t.same(names, all)
    })

    await t.test('a killed member is started again, and the others go on', async (t) => {
      const before = told(cluster).otherServers[1]!.pid!
      const writes = write(first, 'beside')
      process.kill(before, 'SIGKILL')
      await until(() => ![undefined, before].includes(told(cluster).otherServers[1]?.pid), { what: 'another process' })
      await until(() => third.version().catch(() => undefined), { what: 'an answer of the third server' })
      await writes.stop()
      t.ok(writes.acknowledged.length > 0)
      t.same((await namesAt(third)).sort(), (await namesAt(second)).sort())
      await until(() => followed[2]!.length === followed[0]!.length, { what: 'the missed events' })
      t.same(followed[2], followed[0], 'no event is lost or told twice')
    })

    if (engine === 'memory') {
      await t.test('the store ends with its holder, and so does the cluster', async (t) => {
        process.kill(told(cluster).pid, 'SIGKILL')
        await until(() => processesWith(cluster.stateDir).length === 0, { what: 'the end of all processes' })
        const args = ['up', '--port=0', ...alone, `--state-dir=${cluster.stateDir}`]
        const next = startCommand(t, args)
        await next.printed('is ready')
        t.match(next.output(), /was killed or crashed; its objects were in memory and are gone/)
      })
      return
    }

    await t.test('a killed holder starts again on its file, and no acknowledged write is lost', async (t) => {
      const writes = clients.map((client, index) => write(client, `server-${index}`))
      for (let kills = 0; kills < 2; kills++) {
        const counts = writes.map(({ acknowledged }) => acknowledged.length)
        const progress = (): boolean =>
          writes.every(({ acknowledged }, index) => acknowledged.length > counts[index]! + 5)
        await until(progress, { what: 'writes at each server' })
        const { pid } = told(cluster)
        process.kill(pid, 'SIGKILL')
        t.ok((await namesAt(second)).length > 0, 'a member answers a consistent read meanwhile')
        await until(() => told(cluster).pid !== pid, { what: 'the next holder' })
      }
      const others = told(cluster).otherServers.map(({ pid }) => pid)
      await Promise.all(writes.map((one) => one.stop()))
      const acknowledged = writes.flatMap((one) => one.acknowledged)
      for (const client of clients) {
        const names = new Set(await namesAt(client))
        t.same(
          acknowledged.filter((name) => !names.has(name)),
          [],
        )
      }
      t.same(
        told(cluster).otherServers.map(({ pid }) => pid),
        others,
        'members outlive their holder',
      )
      await until(() => followed.every(({ length }) => length === followed[0]!.length), { what: 'the events' })
      for (const names of followed) t.same(names, followed[0])
    })
  })
}
