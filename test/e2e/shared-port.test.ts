/** The API servers of one machine share a port: whichever is killed, the address of the kubeconfig answers. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configMaps } from '../../shared/client/resources.ts'
import { startCommand, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { type Answer, httpsExchange } from '../harness/https-exchange.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const alone = ['--apiservers=3', '--nodes=0', '--controllers=-*', '--scheduler=false']
/** Chance leaves a server out once in 10¹¹ runs. */
const connections = 64

interface Told {
  pid: number
  ownUrl: string
  otherServers: { url: string; pid?: number }[]
}
interface Process {
  url: string
  pid: number | undefined
}

function serversOf({ stateDir }: TestCluster): Process[] {
  const { pid, ownUrl, otherServers } = JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8')) as Told
  return [{ pid, url: ownUrl }, ...otherServers.map((other) => ({ pid: other.pid, url: other.url }))]
}

/** Each request has a connection of its own. */
function ask({ access }: TestCluster, path: string, server = access.server): Promise<Answer> {
  const { hostname, port } = new URL(server)
  const { ca, cert, key } = access
  return httpsExchange({ hostname, port, path, ca, cert, key, agent: false })
}

/** Returns how many requests for `asked` a server has answered. */
async function answeredBy(cluster: TestCluster, { url }: Process): Promise<number> {
  const { bytes } = await ask(cluster, '/metrics', url)
  const lines = `${bytes}`
    .split('\n')
    .filter((line) => /^apiserver_request_total\{.*resource="priorityclasses"/.test(line))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

const asked = '/apis/scheduling.k8s.io/v1/priorityclasses'

await t.test('one port for three API servers', async (t) => {
  if (process.platform !== 'linux') return skipOrFail(t, 'only Linux spreads connections over several listeners')
  const file = join(scratchFolder(t, 'store'), 'state.db')
  const cluster = await startTestCluster(t, ...alone, `--storage=sqlite:${file}`)
  const { server } = cluster.access

  await t.test('each server takes some of the connections', async (t) => {
    t.notOk(
      serversOf(cluster).some(({ url }) => url === server),
      'each has a port of its own, too',
    )
    const answers = await Promise.all(Array.from({ length: connections }, () => ask(cluster, asked)))
    t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
    const counts = await Promise.all(serversOf(cluster).map((one) => answeredBy(cluster, one)))
    t.ok(Math.min(...counts) > 0, `${counts}`)
    t.equal(
      counts.reduce((sum, count) => sum + count, 0),
      connections,
    )
  })

  for (const index of [1, 2, 0]) {
    await t.test(`while server ${index + 1} is killed, the others answer at the port`, async (t) => {
      const pid = serversOf(cluster)[index]!.pid!
      process.kill(pid, 'SIGKILL')
      await until(() => !isAlive(pid), { what: 'its end' })
      const answers = await Promise.all(Array.from({ length: connections }, () => ask(cluster, asked)))
      t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
      const next = await until(
        () => serversOf(cluster).find((one, at) => at === index && isAlive(one.pid) && one.pid !== pid),
        { what: 'the next one' },
      )
      await until(
        () =>
          answeredBy(cluster, next)
            .catch(() => undefined)
            .then((count) => count !== undefined),
        { what: 'its answer' },
      )
      const share = async (): Promise<boolean> => {
        await ask(cluster, asked)
        return (await answeredBy(cluster, next)) > 0
      }
      await until(share, { what: 'the next one to take connections at the port' })
    })
  }

  await t.test('a client with one long connection is served by another when its server is killed', async (t) => {
    const before = serversOf(cluster).map(({ pid }) => pid)
    const answers = () => cluster.client.list(configMaps, { namespace: 'default' }).then(Boolean, () => false)
    for (const index of [1, 2]) {
      t.ok(await until(answers, { what: 'an answer' }))
      process.kill(before[index]!, 'SIGKILL')
      await until(() => !isAlive(before[index]), { what: 'its end' })
      t.ok(await until(answers, { what: 'an answer without it' }))
    }
  })

  await t.test('another cluster does not get the port', async (t) => {
    const stateDir = scratchFolder(t, 'other')
    const other = startCommand(t, ['up', `--port=${new URL(server).port}`, `--state-dir=${stateDir}`, ...alone])
    t.equal(await other.ended, 1)
    t.match(other.output(), /port \d+ on 127\.0\.0\.1 is in use by another program/)
  })
})

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0)
  } catch {
    return false
  }
}
