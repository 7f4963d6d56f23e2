/** Limits of clients, from the command line. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import t from 'tap'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { configMaps } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startCommand } from '../harness/cluster.ts'
import { processesWith } from '../harness/processes.ts'
import { scratchFolder } from '../harness/scratch.ts'

const folder = scratchFolder(t, 'limits')
t.setTimeout(240_000)

async function run(...args: string[]): Promise<{ code: number | string; output: string }> {
  const command = startCommand(t, args)
  return { code: await command.ended, output: command.output() }
}

t.test('a value out of range is refused in one sentence, and nothing runs', async (t) => {
  const stateDir = join(folder, 'refused')
  const wrong: [string, string, RegExp][] = [
    ['--max-connections', '9', /a whole number from 10 to 1000000/],
    ['--max-connections', 'many', /a whole number from 10 to 1000000/],
    ['--max-anonymous-connections', '0', /a whole number from 1 to 1000000/],
    ['--max-requests-per-connection', '1.5', /a whole number from 10 to 100000/],
    ['--max-handshakes', '-1', /a whole number from 10 to 1000000/],
    ['--max-request-body-bytes', '3Mi', /a whole number from 65536 to 67108864/],
    ['--max-requests-inflight', '0', /a whole number from 1 to 100000/],
    ['--http2-max-streams-per-connection', '0', /a whole number from 1 to 1000000/],
    ['--idle-timeout', '1ms', /a duration from 100ms to 24h/],
    ['--request-read-timeout', '2h', /a duration from 100ms to 1h/],
    ['--unread-timeout', '90', /a duration such as 500ms/],
    ['--max-unread-bytes', '16Mi', /a whole number from 1048576 to 68719476736/],
  ]
  const said = await Promise.all(
    wrong.map(([flag, value]) => run('up', '--port=0', `--state-dir=${stateDir}`, `${flag}=${value}`)),
  )
  for (const [index, [flag, value, range]] of wrong.entries()) {
    const { code, output } = said[index]!
    t.equal(code, 2, `${flag} ${value}`)
    t.match(output, /^kubestage: [^\n]+\n$/, 'one sentence')
    t.ok(output.includes(flag) && range.test(output), output)
  }
  t.same(processesWith(stateDir), [])
})

t.test('values that are given hold', async (t) => {
  const stateDir = join(folder, 'given')
  const here = `--state-dir=${stateDir}`
  const limits = [
    '--max-request-body-bytes=65536',
    '--max-connections=50',
    '--max-handshakes=20',
    '--max-anonymous-connections=5',
    '--http2-max-streams-per-anonymous-connection=7',
  ]
  t.match(await run('up', '-d', '--port=0', '--kubelet=false', here, ...limits, '--max-requests-per-connection=10'), {
    code: 0,
  })
  t.teardown(() => run('down', here))
  const kubeconfig = await loadKubeconfig(join(stateDir, 'kubeconfig'))
  const client = createRestClient({ ...kubeconfig, clock: realClock })
  t.teardown(() => client.close())
  const create = (name: string, bytes: number) =>
    client.create(configMaps, { metadata: { name }, data: { text: 'x'.repeat(bytes) } } as never, {
      namespace: 'default',
    })
  await create('small', 60_000)
  await t.rejects(create('large', 70_000), { message: /limit is 65536/ })
  const line = /"limit":"max-request-body-bytes","client":"127.0.0.1:\d+","user":"kubernetes-admin"/
  t.match(readFileSync(join(stateDir, 'logs', 'apiserver.log'), 'utf8'), line)
  const session = connect(kubeconfig.server, { ca: kubeconfig.ca })
  t.teardown(() => session.destroy())
  await once(session, 'remoteSettings')
  t.equal(session.remoteSettings.maxConcurrentStreams, 7)
})
