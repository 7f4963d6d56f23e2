/** `securityContext.sysctls`: parameters of IPC are the pod's own; those that cannot be set are refused, as by upstream's kubelet. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { possibleIsolation } from '../../kubelet/runtime/process/index.ts'
import type { Container, Event, Pod } from '../../shared/api/types.ts'
import { events, pods } from '../../shared/client/resources.ts'
import { kubeletPid, startCommand, startTestCluster } from '../harness/cluster.ts'
import { getText, podOf } from '../harness/pods.ts'
import { skipOrFail } from '../harness/skip.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const parameters = ['kernel/shm_rmid_forced', 'kernel/msgmax', 'fs/mqueue/msg_max']
const files = parameters.map((name) => `/proc/sys/${name}`)
const look = `cat ${files.join(' ')} | xargs`

t.test('kernel parameters of pods', async (t) => {
  const possible = await possibleIsolation({ rootDir: t.testdir() })
  if (possible.isolation !== 'pod' || process.getuid?.() !== 0) return skipOrFail(t, 'no namespaces of IPC here')
  const before = files.map((file) => readFileSync(file, 'utf8').trim())
  const cluster = await startTestCluster(t, '--allowed-unsafe-sysctls=kernel.msg*,fs.mqueue.*')
  const { client } = cluster
  const container = (name: string): Container => ({ name, image: 'busybox:1.37', command: ['sh', '-c', look] })
  const create = (name: string, sysctls: Record<string, string>, spec: Partial<Pod['spec']> = {}) =>
    client.create(
      pods,
      podOf({
        name,
        command: [],
        spec: {
          restartPolicy: 'Never',
          containers: [container('main'), container('beside')],
          securityContext: { sysctls: Object.entries(sysctls).map(([name, value]) => ({ name, value })) },
          ...spec,
        },
      }),
      { namespace },
    )
  const over = (name: string): Promise<Pod> =>
    until(
      async () => {
        const pod = await client.get<Pod>(pods, { namespace, name })
        return ['Succeeded', 'Failed'].includes(pod.status?.phase ?? '') ? pod : undefined
      },
      { what: `${name} to be over` },
    )
  const log = (name: string, container = 'main'): Promise<string> =>
    getText(cluster, `/api/v1/namespaces/default/pods/${name}/log?container=${container}`)

  await create('set', { 'kernel.shm_rmid_forced': '1', 'kernel.msgmax': '4711', 'fs.mqueue.msg_max': '7' })
  await create('slashes', { 'kernel/shm_rmid_forced': '1' })
  await create('sharing', { 'kernel.shm_rmid_forced': '1' }, { shareProcessNamespace: true })
  await create('none', {})
  const names = ['set', 'slashes', 'sharing', 'none']
  const phases = await Promise.all(names.map(async (name) => (await over(name)).status?.phase))
  t.same(phases, ['Succeeded', 'Succeeded', 'Succeeded', 'Succeeded'])
  t.equal(await log('set'), '1 4711 7\n')
  t.equal(await log('set', 'beside'), '1 4711 7\n', 'its containers share them')
  for (const name of ['slashes', 'sharing']) t.match(await log(name), /^1 /, name)
  t.equal(await log('none'), `${before.join(' ')}\n`, 'another pod has the machine’s')
  const after = files.map((file) => readFileSync(file, 'utf8').trim())
  t.same(after, before, 'the machine’s are untouched')

  for (const [name, sysctl, why] of [
    ['network', 'net.ipv4.tcp_syncookies', 'allowed with host net enabled'],
    ['unsafe', 'kernel.shmmax', 'allowlisted'],
    ['machine', 'vm.swappiness', 'allowlisted'],
  ] as const) {
    await create(name, { [sysctl]: '1' })
    const { phase, reason, message } = (await over(name)).status ?? {}
    t.same({ phase, reason }, { phase: 'Failed', reason: 'SysctlForbidden' }, name)
    t.match(message, `forbidden sysctl: "${sysctl}" not ${why}`)
  }

  t.test('hooks and kubectl exec see them, also after a restart of the kubelet', async (t) => {
    const preStop = { exec: { command: ['sh', '-c', `${look} >/proc/1/fd/1`] } }
    const main = { ...container('main'), command: ['sh', '-c', 'exec sleep 1000'], lifecycle: { preStop } }
    await create('hook', { 'kernel.msgmax': '4712' }, { containers: [main], terminationGracePeriodSeconds: 3 })
    const isRunning = async () => (await client.get<Pod>(pods, { namespace, name: 'hook' })).status?.phase === 'Running'
    await until(isRunning, { what: 'the pod to run' })
    process.kill(kubeletPid(cluster), 'SIGKILL')
    await cluster.process.printed('the kubelet ended (SIGKILL) and starts again')
    const following = until(async () => (await log('hook')).includes('4712'), { what: 'the hook’s line' })
    await client.delete(pods, { namespace, name: 'hook' })
    t.ok(await following)
  })

  t.test('a value that the kernel refuses is reported, and no container runs without it', async (t) => {
    await create('wrong', { 'kernel.msgmax': '-5' })
    const isReported = async () =>
      (await client.list<Event>(events, { namespace })).items.find(
        ({ involvedObject, reason }) => involvedObject.name === 'wrong' && reason === 'FailedCreatePodSandBox',
      )?.message
    const found = await until(isReported, { what: 'the reason why it does not start' })
    t.match(found, /^Failed to create pod sandbox: .*sysctl kernel\.msgmax: invalid argument$/)
    t.equal((await client.get<Pod>(pods, { namespace, name: 'wrong' })).status?.phase, 'Pending')
  })
})

t.test('what is no parameter of a namespace cannot be allowed', async (t) => {
  for (const pattern of ['vm.swappiness', 'kernel.*', '*']) {
    const command = startCommand(t, ['config', `--allowed-unsafe-sysctls=${pattern}`])
    t.not(await command.ended, 0, pattern)
    t.match(command.output(), pattern)
  }
})
