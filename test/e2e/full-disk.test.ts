import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ConfigMap } from '../../shared/api/types.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startCommand } from '../harness/cluster.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { mountSmallDisk } from '../harness/small-disk.ts'
import { until } from '../harness/until.ts'

const configmaps = { group: '', version: 'v1', plural: 'configmaps' }
const namespace = 'default'
const full = /storage file .*state\.db cannot be written: the disk is full; make room, or name another with --storage/

t.test('on a full disk reads and deletes work, also after a kill; with room writes work again', async (t) => {
  const place = join(scratchFolder(t, 'disk'), 'small')
  if (!mountSmallDisk(place, 'size=24m')) return skipOrFail(t, 'this machine lets us mount nothing')
  const stateDir = join(place, 'state')
  const up = startCommand(t, [
    'up',
    '--port=0',
    '--kubelet=false',
    `--state-dir=${stateDir}`,
    `--storage=sqlite:${stateDir}/state.db`,
  ])
  await up.printed('is ready')
  const client = createRestClient({ ...(await loadKubeconfig(join(stateDir, 'kubeconfig'))), clock: realClock })
  t.teardown(() => client.close())
  const create = (name: string, finalizers?: string[]) =>
    client.create<ConfigMap>(
      configmaps,
      { metadata: { name, ...(finalizers && { finalizers }) }, data: { text: 'x'.repeat(20_000) } },
      { namespace },
    )
  const remove = (name: string) => client.delete(configmaps, { namespace, name })
  const refused = (name: string) =>
    create(name).then(
      () => false,
      (error: Error & { code?: number }) => full.test(error.message) && error.code === 500,
    )
  const names = (): Promise<string[]> =>
    client
      .list<ConfigMap>(configmaps, { namespace })
      .then(({ items }) => items.map(({ metadata }) => metadata.name ?? ''))

  for (let i = 0; i < 30; i++) await create(`old-${i}`)
  await create('held', ['example.com/held'])
  const filler = join(place, 'filler')
  execFileSync('sh', ['-c', `cat /dev/zero > ${filler} || true`], { stdio: 'ignore' })
  let acknowledged = 0
  while (!(await refused(`new-${acknowledged}`))) acknowledged++
  await up.printed('the disk is full; reads and deletes go on')
  for (let i = 0; i < 10; i++) await remove(`old-${i}`)
  await remove('held')
  const held = await client.get<ConfigMap>(configmaps, { namespace, name: 'held' })
  t.ok(held.metadata.deletionTimestamp, 'a delete that waits for a finalizer')
  await client.patch(configmaps, { namespace, name: 'held' }, { metadata: { finalizers: null } })
  t.ok(await refused('another'), 'and other writes are still refused')
  const before = await names()
  t.notOk(before.includes('old-0') || before.includes('held'))
  t.ok(before.includes('old-10') && before.includes('old-29'))
  t.ok(acknowledged === 0 || before.includes(`new-${acknowledged - 1}`), 'what was acknowledged is there')

  const { pid } = JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8'))
  process.kill(pid, 'SIGKILL')
  await up.printed('the API server ended (SIGKILL) and starts again')
  const after = await until(() => names().catch(() => undefined), { what: 'the next API server, to read' })
  t.same(after, before, 'nothing is lost, and nothing deleted is back')
  await until(() => refused('another'), { what: 'writes to be refused' })
  for (let i = 10; i < 20; i++) await remove(`old-${i}`)
  t.notOk((await names()).includes('old-19'))

  rmSync(filler)
  await until(() => create('at-last').catch(() => undefined), { what: 'writes to go on' })
  await up.printed('there is room again; writes go on')
  up.child.kill('SIGINT')
  t.equal(await up.ended, 0)
})
