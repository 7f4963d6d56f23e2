/** `kubestage up --storage etcd`: the cluster starts an etcd of its own, and keeps its data below the state folder. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ConfigMap } from '../../shared/api/types.ts'
import { cli, startCommand, startTestCluster } from '../harness/cluster.ts'
import { etcdPrograms, noEtcd } from '../harness/etcd.ts'
import { processesWith } from '../harness/processes.ts'
import { run } from '../harness/run.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const configmaps = { group: '', version: 'v1', plural: 'configmaps' }
const namespace = 'default'

t.test('without an etcd on this machine, one sentence says how to get one', async (t) => {
  const folder = scratchFolder(t, 'none')
  const up = startCommand(t, ['up', '--port=0', '--kubelet=false', '--storage=etcd', `--state-dir=${folder}`], {
    variables: { ETCD_BIN: '', PATH: noPrograms(folder) },
  })
  t.equal(await up.ended, 1)
  t.match(
    up.output(),
    /no etcd in ETCD_BIN, .*apt-get install etcd-server, brew install etcd, .*--storage sqlite:PATH\n$/,
  )
})

t.test('kubestage apiserver has no etcd of its own', async (t) => {
  const said = await run(process.execPath, [cli, 'apiserver', '--storage=etcd'])
  t.match(said?.output, 'must be memory, sqlite:PATH or etcd:https://HOST:PORT[,…], not "etcd"')
})

t.test('an etcd of its own', async (t) => {
  if (etcdPrograms().length === 0) return skipOrFail(t, noEtcd)
  const cluster = await startTestCluster(t, '--storage=etcd', '--kubelet=false')
  const { client, stateDir, process: command } = cluster
  const data = join(stateDir, 'etcd', 'data')
  const etcd = (): number => told(stateDir).etcdPid
  const create = (name: string) => client.create<ConfigMap>(configmaps, { metadata: { name } }, { namespace })
  const isThere = (name: string) =>
    until(() => client.get<ConfigMap>(configmaps, { namespace, name }).catch(() => undefined), { what: name })

  await t.test('only the holder of its client certificate reads it', async (t) => {
    const [port] = /https:\/\/127\.0\.0\.1:\d+/.exec(commandLine(etcd())) ?? []
    await t.rejects(fetch(`${port}/health`))
    t.equal(commandLine(etcd()).includes('0.0.0.0'), false)
  })

  await t.test('it ends: it starts again, with what was acknowledged', async (t) => {
    await create('before')
    const pid = etcd()
    process.kill(pid, 'SIGKILL')
    await command.printed('etcd ended (SIGKILL) and starts again in 0.5 s; what it acknowledged is kept')
    t.ok(await isThere('before'))
    await until(() => processesWith(data).some((other) => other !== pid), { what: 'the next etcd' })
    await until(() => create('after').catch(() => undefined), { what: 'a write', timeoutMs: 20_000 })
    await until(() => etcd() !== pid, { what: 'its process id in running.json' })
  })

  await t.test('the API server ends: the next one has the same objects', async (t) => {
    const { pid } = told(stateDir)
    process.kill(pid, 'SIGKILL')
    await until(() => told(stateDir).pid !== pid, { what: 'the next API server', timeoutMs: 30_000 })
    t.ok(await isThere('after'))
    await until(() => processesWith(data).length === 2, { what: 'one etcd, and what ends it with the server' })
  })

  await t.test('down ends it in order; up has the same objects', async (t) => {
    const status = await run(process.execPath, [cli, 'status', '--state-dir', stateDir])
    t.match(status?.output, /storage +etcd\n/)
    t.match(status?.output, /etcd pid +\d+\n/)
    const down = await run(process.execPath, [cli, 'down', '--state-dir', stateDir])
    t.match(down, { code: 0, output: 'Stopped.' })
    await until(() => processesWith(data).length === 0, { what: 'the end of etcd' })
    const again = startCommand(t, [
      ...['up', '--port=0', '--kubelet=false', '--storage=etcd', `--state-dir=${stateDir}`],
    ])
    await again.printed('is ready')
    const file = join(scratchFolder(t, 'snapshot'), 'objects.json')
    t.match(await run(process.execPath, [cli, 'snapshot', file, '--state-dir', stateDir]), { code: 0 })
    t.match(readFileSync(file, 'utf8'), 'configmaps/default/after')
    await again.stop()
    await until(() => processesWith(data).length === 0, { what: 'the end of etcd' })
  })
})

const told = (stateDir: string): { pid: number; etcdPid: number } =>
  JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8'))
const commandLine = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'latin1')

/** A PATH without programs, but for a `sh` in whose scripts nothing is below /usr or /opt. */
function noPrograms(folder: string): string {
  const shell = join(folder, 'sh')
  writeFileSync(shell, `#!/bin/bash\nexec /bin/bash -c "$(/bin/sed -E 's,/(usr|opt)/,/none/,g' <<<"$2")"\n`)
  chmodSync(shell, 0o755)
  return folder
}
