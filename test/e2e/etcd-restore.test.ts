import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { etcdPrograms, noEtcd, startEtcd } from '../harness/etcd.ts'
import { etcdctl, missingTools, restoreEtcd } from '../harness/etcd-tools.ts'
import { podOf, politeScript } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
/** The backup has the Lease of its leader, which the next one waits for. */
const shortTerms = [
  '--leader-elect-lease-duration=3s',
  '--leader-elect-renew-deadline=2s',
  '--leader-elect-retry-period=500ms',
]

// The newest has a restore that keeps revisions going forward.
const program = etcdPrograms().sort((a, b) => (a.version < b.version ? 1 : -1))[0]
const missing = program ? missingTools(program) : noEtcd
if (!program || missing) skipOrFail(t, missing ?? noEtcd)
else {
  t.test(`pods under a cluster whose etcd ${program.version} is restored from a snapshot`, async (t) => {
    const etcd = await startEtcd(t, program)
    const cluster = await startTestCluster(t, `--storage=etcd:${etcd.url}`, ...shortTerms)
    const { client, stateDir } = cluster
    const marked = (name: string): string => `${name}-${process.pid}`
    const read = (name: string) => client.get<Pod>(pods, { namespace, name }).catch(() => undefined)
    const untilRunning = (name: string) =>
      until(
        async () => {
          const pod = await read(name)
          return pod?.status?.containerStatuses?.[0]?.state?.running && !pod.metadata.deletionTimestamp
            ? pod
            : undefined
        },
        { what: `pod ${name} to run` },
      )
    const run = async (name: string): Promise<Pod> => {
      const command = ['sh', '-c', `: ${marked(name)}; ${politeScript}`]
      await client.create(pods, podOf({ name, command }), { namespace })
      return await untilRunning(name)
    }
    const [stays, returns] = [await run('stays'), await run('returns')]
    const before = processesWith(marked('stays'))
    const file = join(scratchFolder(t, 'backup'), 'backup.db')
    await etcdctl(etcd, 'snapshot', 'save', file)
    await run('later')
    await client.delete(pods, { namespace, name: 'returns' }, { gracePeriodSeconds: 1 })
    await until(() => processesWith(marked('returns')).length === 0, { what: 'the pod to end' })

    const forward = /^3\.[45]\./.test(program.version) ? [] : ['--bump-revision', '1000000', '--mark-compacted']
    await restoreEtcd(t, program, { file, instead: etcd, args: forward })
    const told = (): { pid: number } => JSON.parse(readFileSync(join(stateDir, 'running.json'), 'utf8'))
    const { pid } = told()
    process.kill(pid, 'SIGKILL')
    await until(() => told().pid !== pid, { what: 'the next API server' })

    await until(() => processesWith(marked('later')).length === 0, { what: 'a pod without an object to end' })
    t.equal(await read('later'), undefined)
    const again = await untilRunning('returns')
    t.equal(again.metadata.uid, returns.metadata.uid, 'a pod that was deleted later is there again')
    await until(() => processesWith(marked('returns')).length > 0, { what: 'its process' })
    const kept = await untilRunning('stays')
    t.same(kept.status?.containerStatuses, stays.status?.containerStatuses)
    t.ok(before.length > 0 && before.every((pid) => processesWith(marked('stays')).includes(pid)), 'the same process')
    t.ok(Number((await run('new')).metadata.resourceVersion) > (forward.length > 0 ? 1_000_000 : 0))
  })
}
