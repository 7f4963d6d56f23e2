// What a machine that is no Linux has to offer: pods are plain processes, and everything else is as it is elsewhere.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import { nodes, pods, terminations } from '../../shared/client/resources.ts'
import { repository, startTestCluster } from '../harness/cluster.ts'
import { followPod, getText, isReady, podOf } from '../harness/pods.ts'
import { processesWith } from '../harness/processes.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'

t.test('on a machine that is no Linux', async (t) => {
  process.env.NODE_OPTIONS = `--import=${join(repository, 'test/harness/no-linux.mjs')} ${process.env.NODE_OPTIONS ?? ''}`
  const cluster = await startTestCluster(t, '--strict')
  const { client } = cluster
  const node = await client.get(nodes, { name: 'node-1' })
  t.match(node.metadata.labels, { 'kubestage.dev/isolation': 'none', 'kubestage.dev/files': 'host' })

  const script = 'echo began; trap "echo asked; exit 0" TERM; while :; do sleep 0.05; done'
  const preStop = { exec: { command: ['sh', '-c', 'echo "why: $KUBE_POD_TERM_REASON"; exit 3'] } }
  for (const pod of [
    podOf({ name: 'web', command: ['sh', '-c', script], spec: { automountServiceAccountToken: false } }),
    podOf({ name: 'hooked', command: ['sh', '-c', script], preStop }),
    podOf({ name: 'fails', command: ['sh', '-c', 'exit 7'], spec: { restartPolicy: 'Never' } }),
  ])
    await client.create(pods, pod, { namespace })
  const fails = await followPod(client, { namespace, name: 'fails' })
  const { status: failed } = await fails.until(({ status }) => status?.phase === 'Failed', 'to fail')
  t.equal(failed?.containerStatuses?.[0]?.state?.terminated?.exitCode, 7)

  const readOnly = podOf({ name: 'strict', command: ['sh', '-c', script] })
  readOnly.spec.containers[0]!.securityContext = { readOnlyRootFilesystem: true }
  await client.create(pods, readOnly, { namespace })
  const strict = await followPod(client, { namespace, name: 'strict' })
  const waiting = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting
  const refused = await strict.until((pod) => waiting(pod)?.reason === 'CreateContainerConfigError', 'to be refused')
  t.match(waiting(refused)?.message, 'refused by --strict: readOnlyRootFilesystem: true is not applied')

  const web = await followPod(client, { namespace, name: 'web' })
  const { metadata } = await web.until(isReady, 'to be ready')
  const folder = join(cluster.stateDir, 'kubelet', 'pods', metadata.uid!)
  t.notOk(existsSync(folder), 'a pod without volumes has no folder where its containers see the machine’s own files')
  const [kubelet] = processesWith(join(cluster.stateDir, 'kubelet', 'config.json'))
  process.kill(kubelet!, 'SIGKILL')
  await cluster.process.printed('the kubelet ended (SIGKILL) and starts again')
  const path = `/api/v1/namespaces/${namespace}/pods/web/log`
  const log = await until(async () => /^began\n$/.test(await getText(cluster, path)), { what: 'its log' })
  t.ok(log, 'its container runs on, and began once')

  for (const name of ['web', 'hooked']) {
    const pod = await followPod(client, { namespace, name })
    await client.delete(pods, { namespace, name }, { reason: 'Update', gracePeriodSeconds: 20 })
    const events = await pod.untilDeleted()
    const { state } = events.at(-1)?.object.status?.containerStatuses?.[0] ?? {}
    t.equal(state?.terminated?.exitCode, 0, `${name} was asked to end`)
  }
  const { items } = await client.list<Termination>(terminations, { namespace, fieldSelector: 'podName=hooked' })
  t.match(items, [
    { reason: 'Update', containers: [{ steps: [{ name: 'PreStop', exitCode: 3, output: 'why: Update\n' }] }] },
  ])
})
