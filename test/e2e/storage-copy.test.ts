import { join } from 'node:path'
import t from 'tap'
import type { ConfigMap, KubeObject, Pod } from '../../shared/api/types.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import { pods } from '../../shared/client/resources.ts'
import { createRestClient } from '../../shared/client/rest-client.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startCommand, startTestCluster } from '../harness/cluster.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { podOf, politeScript } from '../harness/pods.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const configmaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true }
const namespace = 'default'

const program = etcdPrograms()[0]
if (!program) skipOrFail(t, noEtcd)
else {
  t.test('a cluster moves from a file to etcd: objects stay, and its pods run again', async (t) => {
    const etcd = await startEtcd(t, program)
    const folder = scratchFolder(t, 'move')
    const [file, server] = [`sqlite:${join(folder, 'state.db')}`, `etcd:${etcd.url}`]
    const run = async (...args: string[]) => {
      const command = startCommand(t, args)
      return { code: await command.ended, output: command.output() }
    }
    const before = await startTestCluster(t, `--storage=${file}`)
    const made = await before.client.create<ConfigMap>(configmaps, { metadata: { name: 'kept' } }, { namespace })
    await before.client.create<Pod>(pods, podOf({ name: 'web', command: ['sh', '-c', politeScript] }), { namespace })
    const running = await until(
      async () => {
        const pod = await before.client.get<Pod>(pods, { namespace, name: 'web' })
        return pod.status?.phase === 'Running' ? pod : undefined
      },
      { what: 'the pod to run' },
    )
    t.match(await run('storage', 'copy', file, server), {
      code: 1,
      output: /^kubestage: storage file \S+ is in use by another process; stop that one, or name another place\n$/,
    })
    await before.client.close()
    before.process.child.kill('SIGKILL')
    await before.process.ended

    const copied = await run('storage', 'copy', file, server)
    t.equal(copied.code, 0, copied.output)
    t.match(copied.output, /^\d+ objects copied from sqlite:\S+ \(revision \d+\) to etcd:\S+ \(revision \d+\)\n$/)
    t.match(await run('storage', 'copy', file, server), { code: 1, output: /pass --overwrite to replace them/ })
    t.match(await run('storage', 'copy', file), {
      code: 2,
      output: /^kubestage: usage: kubestage storage copy FROM TO\n$/,
    })

    t.match(await run('up', '--port=0', `--state-dir=${join(folder, 'other')}`, `--storage=${server}`), {
      code: 1,
      output: /belong to a cluster with another CA; start with the pki folder of that cluster/,
    })
    const after = startCommand(t, ['up', '--port=0', `--state-dir=${before.stateDir}`, `--storage=${server}`])
    await after.printed('is ready')
    const client = createRestClient({ ...(await loadKubeconfig(before.kubeconfig)), clock: realClock })
    t.teardown(() => client.close())
    const kept = await client.get<ConfigMap>(configmaps, { namespace, name: 'kept' })
    t.equal(kept.metadata.uid, made.metadata.uid)
    t.ok(Number(kept.metadata.resourceVersion) > Number(made.metadata.resourceVersion))
    const old = made.metadata.resourceVersion
    const watching = async () => {
      const watch = client.watch<KubeObject>(configmaps, { namespace, resourceVersion: old })
      for await (const event of watch) return event
    }
    await t.rejects(watching(), { code: 410 }, 'the history of the file is not taken for that of etcd')
    await t.rejects(client.update(configmaps, { ...kept, metadata: { ...kept.metadata, resourceVersion: old } }), {
      code: 409,
    })
    const again = await until(
      async () => {
        const pod = await client.get<Pod>(pods, { namespace, name: 'web' })
        const { phase, containerStatuses } = pod.status ?? {}
        return phase === 'Running' && containerStatuses?.[0]?.restartCount === 1 ? pod : undefined
      },
      { what: 'the pod to run again, as after a restart of its machine' },
    )
    t.equal(again.metadata.uid, running.metadata.uid)
  })
}
