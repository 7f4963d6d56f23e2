/** `emptyDir` with `medium: Memory`: a tmpfs of its size, shared by the pod's containers, lost with the machine's power, never left behind. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { pods } from '../../shared/client/resources.ts'
import { kubeletPid, startCommand, startTestCluster, type TestCluster } from '../harness/cluster.ts'
import { getText, isReady, podOf, politeScript } from '../harness/pods.ts'
import { killIfThere, processesWith } from '../harness/processes.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const image = 'busybox:1.37'
const sizeLimit = '2Mi'

const mountsBelow = (folder: string): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(` ${folder}/`))

const ready = (client: Client, name: string, restarts = 0): Promise<Pod> =>
  until(
    async () => {
      const pod = await client.get<Pod>(pods, { namespace, name })
      const main = pod.status?.containerStatuses?.find((status) => status.name === 'main')
      return isReady(pod) && (main?.restartCount ?? 0) >= restarts ? pod : undefined
    },
    { what: `${name} to be ready` },
  )

/** Two containers that share a volume in memory; `probe` tells of it in its log. */
function sharing(name: string, probe: string, emptyDir: object, limits?: Record<string, string>): Pod {
  const container = (container: string, script: string) => ({
    name: container,
    image,
    command: ['sh', '-c', `${script}\n${politeScript}`],
    volumeMounts: [{ name: 'cache', mountPath: '/cache' }],
    ...(limits && { resources: { limits } }),
  })
  return podOf({
    name,
    command: [],
    spec: {
      terminationGracePeriodSeconds: 5,
      containers: [container('main', probe), container('beside', '')],
      volumes: [{ name: 'cache', emptyDir: { medium: 'Memory', ...emptyDir } }],
    },
  })
}

const look = `echo $(stat -f -c %T /cache) $(stat -c %a /cache) $(df -k /cache | tail -1 | awk '{print $2}') $(ls /cache)
date +%N >/cache/once-$(ls /cache | wc -l)`

async function linesOf(cluster: TestCluster, name: string, count: number): Promise<string[]> {
  const path = `/api/v1/namespaces/default/pods/${name}/log?container=main`
  const lines = async () => (await getText(cluster, path)).split('\n').filter(Boolean)
  return until(async () => ((await lines()).length >= count ? lines() : undefined), { what: `the lines of ${name}` })
}

t.test('volumes in memory', async (t) => {
  if ((await possibleIsolation({ rootDir: t.testdir() })).files !== 'own')
    return skipOrFail(t, 'this machine lets us mount nothing')
  const cluster = await startTestCluster(t)
  const { client, stateDir } = cluster
  const kubestage = async (...args: string[]): Promise<void> =>
    void t.equal(await startCommand(t, [...args, `--state-dir=${stateDir}`]).ended, 0, args.join(' '))

  const full = 'dd if=/dev/zero of=/cache/big bs=1024 count=4096 2>&1 | grep -o "No space left.*"; rm -f /cache/big'
  await client.create(pods, sharing('small', `${look}\n${full}`, { sizeLimit }), { namespace })
  await client.create(pods, sharing('limited', look, {}, { memory: '16Mi' }), { namespace })
  await client.create(pods, sharing('open', look, {}), { namespace })
  await Promise.all(['small', 'limited', 'open'].map((name) => ready(client, name)))
  t.same(await linesOf(cluster, 'small', 2), ['tmpfs 777 2048', 'No space left on device'])
  t.same(await linesOf(cluster, 'limited', 1), [`tmpfs 777 ${32 * 1024}`], 'the pod’s limit: twice 16Mi')
  const machineKiB = Number(/MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1])
  t.same(await linesOf(cluster, 'open', 1), [`tmpfs 777 ${machineKiB}`], 'the node’s memory')
  t.equal(mountsBelow(stateDir).length, 3)

  t.test('other pods do not see it', async (t) => {
    const command = ['sh', '-c', `find ${stateDir} -name 'once-*'; echo that is all`]
    await client.create(pods, podOf({ name: 'stranger', command, spec: { restartPolicy: 'Never' } }), { namespace })
    const log = () => getText(cluster, '/api/v1/namespaces/default/pods/stranger/log')
    await until(async () => (await log()).includes('that is all'), { what: 'the stranger to have looked' })
    t.equal(await log(), 'that is all\n')
    await client.delete(pods, { namespace, name: 'stranger' })
  })

  t.test('it outlives its containers and its kubelet, and is lost when the machine reboots', async (t) => {
    process.kill(kubeletPid(cluster), 'SIGKILL')
    await cluster.process.printed('the kubelet ended (SIGKILL) and starts again')
    const pod = await client.get<Pod>(pods, { namespace, name: 'small' })
    const id = pod.status?.containerStatuses?.find(({ name }) => name === 'main')?.containerID?.split('//')[1] ?? ''
    for (const pid of processesWith(`:${id}`)) killIfThere(pid)
    await ready(client, 'small', 1)
    t.match(await linesOf(cluster, 'small', 1), [/^tmpfs 777 2048 once-0$/])
    await kubestage('node', 'reboot', 'node-1')
    await ready(client, 'small', 2)
    t.match(await linesOf(cluster, 'small', 1), [/^tmpfs 777 2048$/], 'empty, and of the same size')
    t.equal(mountsBelow(stateDir).length, 3, 'none is mounted twice')
  })

  t.test('no mount is left of a pod that is gone', async (t) => {
    for (const name of ['limited', 'open']) await client.delete(pods, { namespace, name })
    await until(() => mountsBelow(stateDir).length === 1, { what: 'two volumes to be gone' })
    t.equal(mountsBelow(stateDir).length, 1)
  })

  t.test('no mount is left when the server is killed', async (t) => {
    cluster.process.child.kill('SIGKILL')
    await until(() => processesWith(stateDir).length === 0, { what: 'all processes to end' })
    t.same(mountsBelow(stateDir), [])
  })
})
