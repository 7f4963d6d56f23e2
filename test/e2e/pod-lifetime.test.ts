/** One name, several pods: each has its own UID, its own volumes, its own end. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Pod } from '../../shared/api/types.ts'
import { pods } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, kubectl } from '../harness/kubectl.ts'
import { deafScript, followPod, getText, isReady, podOf, politeScript } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { until } from '../harness/until.ts'

const cluster = await startTestCluster(t)
const { client, kubeconfig } = cluster
const namespace = 'default'

/** `hostFolder` is seen by the container, too. */
async function start(
  name: string,
  script: string,
  hostFolder?: string,
): Promise<Awaited<ReturnType<typeof followPod>> & { pod: Pod }> {
  const pod = podOf({ name, command: ['sh', '-c', script], hostFolder })
  pod.spec.volumes?.push({ name: 'd', emptyDir: {} })
  pod.spec.containers[0]!.volumeMounts?.push({ name: 'd', mountPath: '/d' })
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name })
  return { ...followed, pod: await followed.until(isReady, 'to be ready') }
}

t.test('what replaces a pod is another pod', async (t) => {
  const folder = t.testdir()
  const mayEnd = join(folder, 'may-end')
  const wait = 'sleep 0.05; done'
  const script = `ls /d; echo mine >/d/file; trap "until [ -e ${mayEnd} ]; do ${wait}; exit 0" TERM; while :; do ${wait}`
  const first = await start('web', script, folder)
  await client.delete(pods, { namespace, name: 'web' })
  const [version] = findKubectls()
  if (version) {
    const { stdout } = await kubectl(t, version, kubeconfig, ['get', 'pod', 'web'])
    t.match(stdout, /^web +1\/1 +Terminating +0 +\d+s$/m, 'kubectl get shows Terminating')
    const described = await kubectl(t, version, kubeconfig, ['describe', 'pod', 'web'])
    t.match(
      described.stdout,
      /^Status: +Terminating \(lasts .+\)\nTermination Grace Period: +30s$/m,
      'and kubectl describe',
    )
  }
  writeFileSync(mayEnd, '')
  await first.untilDeleted()
  const second = await start('web', script, folder)
  t.not(second.pod.metadata.uid, first.pod.metadata.uid, 'under its own UID')
  const log = await getText(cluster, `/api/v1/namespaces/${namespace}/pods/web/log`)
  t.notMatch(log, /^file$/m, 'and with a volume of its own, in which nothing is')
  await client.delete(pods, { namespace, name: 'web' }, { gracePeriodSeconds: 1 })
  await second.untilDeleted()
})

t.test('a name is free at once after a forced end', async (t) => {
  const marker = `forced-${process.pid}`
  const first = await start('forced', `: ${marker}; ${deafScript}`)
  await client.delete(pods, { namespace, name: 'forced' }, { gracePeriodSeconds: 0 })
  const second = await start('forced', politeScript)
  t.not(second.pod.metadata.uid, first.pod.metadata.uid, 'another pod has the name')
  await until(() => processesWith(marker).length === 0, { what: 'what ran before to end' })
  t.same(processesWith(marker), [], 'what ran before is ended')
  const after = await client.get<Pod>(pods, { namespace, name: 'forced' })
  t.equal(after.metadata.uid, second.pod.metadata.uid)
  t.ok(isReady(after), 'and what has the name now is not touched')
})
