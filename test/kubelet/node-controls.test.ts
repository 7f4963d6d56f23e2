/** What can happen to the machine below a kubelet: it is shut down, lost, and back again. */
import path from 'node:path'
import t from 'tap'
import { createLossMark, type LossMark } from '../../kubelet/node/loss-mark.ts'
import { inGroups, twoGroups } from '../../kubelet/node/shutdown.ts'
import { shutdownGroups, shutdownMs, shutdownOptions } from '../../kubelet/node/shutdown-options.ts'
import type { Pod } from '../../shared/api/types.ts'
import { resolveOptions } from '../../shared/config/resolve.ts'
import { machine } from './machine.ts'

const containers = [{ name: 'c', image: 'x', lifecycle: { preStop: { exec: { command: ['drain'] } } } }]
const critical = 2_000_000_000

t.test('pods of a shutdown are in groups, the unimportant first', async (t) => {
  const pods = [5, -3, undefined, critical, critical + 1000].map(
    (priority, index): Pod => ({ metadata: { name: `p${index}` }, spec: { containers: [], priority } }),
  )
  const names = (groups: Parameters<typeof inGroups>[1]) =>
    inGroups(pods, groups).map(([{ graceSeconds }, members]) => [
      graceSeconds,
      members.map(({ metadata }) => metadata.name).join(),
    ])
  t.same(names(twoGroups(30, 10)), [
    [20, 'p0,p1,p2'],
    [10, 'p3,p4'],
  ])
  const byPriority = [
    { priority: 1000, graceSeconds: 1 },
    { priority: 5, graceSeconds: 2 },
    { priority: 2, graceSeconds: 3 },
  ]
  t.same(names(byPriority), [
    [3, 'p1,p2'],
    [2, 'p0'],
    [1, 'p3,p4'],
  ])
})

t.test('the times of a shutdown as they are configured: for all and critical pods, or by priority', async (t) => {
  const configured = async (...args: string[]) => (await resolveOptions(shutdownOptions, { args, env: {} })).values
  const two = await configured('--shutdown-grace-period', '30s', '--shutdown-grace-period-critical-pods', '10s')
  t.same(shutdownGroups(two), twoGroups(30, 10))
  t.equal(shutdownMs(two), 30_000)
  const flag = '--shutdown-grace-period-by-pod-priority'
  const several = await configured(flag, '0=20, -5=7', flag, '1000=10')
  t.same(shutdownGroups(several), [
    { priority: 0, graceSeconds: 20 },
    { priority: -5, graceSeconds: 7 },
    { priority: 1000, graceSeconds: 10 },
  ])
  t.equal(shutdownMs(several), 37_000)
  const { fromFile } = shutdownOptions.shutdownGracePeriodByPodPriority.type
  const group = { priority: 5, shutdownGracePeriodSeconds: 1 }
  t.same(fromFile([group]), [group])
  for (const wrong of ['10', '0=20s', 'high=1']) {
    await t.rejects(configured(flag, wrong), /must be priorities and seconds, as 0=20/)
  }
  for (const wrong of [group, ['0=1'], [{ priority: 1 }], [{ ...group, more: 1 }], [null]]) {
    t.throws(() => fromFile(wrong), /must be priorities and seconds/)
  }
})

t.test('shutdown: critical pods last, each within its time, and they are told', async (t) => {
  const { clock, start, create, pod, events, hooks, signals, nodeCondition } = machine(
    t,
    ({ name }) => (name === 'deaf' ? { onTerm: 'ignore' } : {}),
    { shutdownGroups: twoGroups(10, 4) },
  )
  const kubelet = await start()
  await create('polite', { containers })
  await create('deaf', { containers: [{ ...containers[0]!, name: 'deaf' }], terminationGracePeriodSeconds: 60 })
  await create('critical', { containers, priority: critical })
  await clock.advance(2_000)
  const down = kubelet.controls.shutDown()
  await clock.advance(1_000)
  t.match(nodeCondition('Ready'), { status: 'False', reason: 'KubeletNotReady', message: 'node is shutting down' })
  t.match(pod('polite')?.status, {
    phase: 'Failed',
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
    conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }],
  })
  t.equal(pod('critical')?.status?.phase, 'Running')
  await create('late')
  await clock.advance(1_000)
  t.match(pod('late')?.status, {
    phase: 'Failed',
    reason: 'NodeShutdown',
    message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
  })
  await clock.advance(3_000)
  t.same(signals, ['TERM', 'TERM'])
  await clock.advance(1_500)
  t.same(signals, ['TERM', 'TERM', 'KILL', 'TERM'], 'after six seconds, and then it is the critical pod’s turn')
  await clock.advance(5_000)
  await down
  t.equal(pod('critical')?.status?.reason, 'Terminated')
  t.same(hooks, ['Eviction', 'Eviction', 'Eviction'])
  t.equal(events.filter((reason) => reason === 'Shutdown').length, 1)
  t.ok(kubelet.isLost(), 'the node is off')
  await kubelet.controls.comeBack()
  await clock.advance(1_000)
  t.equal(nodeCondition('Ready')?.status, 'True')
  await create('next')
  await clock.advance(1_000)
  t.equal(pod('next')?.status?.phase, 'Running')
  await kubelet.close()
})

t.test('a shutdown that is called off', async (t) => {
  const { clock, start, create, pod, events, nodeCondition } = machine(
    t,
    { onTerm: { afterMs: 3_000, exitCode: 0 } },
    { shutdownGroups: twoGroups(10, 0) },
  )
  const kubelet = await start()
  await create()
  await clock.advance(2_000)
  const down = kubelet.controls.shutDown()
  await clock.advance(1_000)
  await kubelet.controls.comeBack()
  await clock.advance(10_000)
  await down
  t.notOk(kubelet.isLost())
  t.equal(nodeCondition('Ready')?.status, 'True')
  t.same(events.slice(-2).sort(), ['NodeReady', 'Shutdown'])
  t.equal(pod()?.status?.phase, 'Succeeded', 'whose end had begun')
  await kubelet.close()
})

t.test('shutdown gives no pod more than its own grace', async (t) => {
  const { clock, start, create, signals } = machine(t, { onTerm: 'ignore' }, { shutdownGroups: twoGroups(30, 0) })
  const kubelet = await start()
  await create()
  await clock.advance(2_000)
  const ended = kubelet.shutdown()
  await clock.advance(7_900)
  t.same(signals, ['TERM'])
  await clock.advance(300)
  t.same(signals, ['TERM', 'KILL'], 'after its 8 s, not after 30')
  await clock.advance(2_000)
  await ended
  await kubelet.close()
})

t.test('a node that is lost: its pods run on, and the API hears nothing until it is back', async (t) => {
  const { clock, api, start, create, pod, container, signals, hooks } = machine(t)
  const kubelet = await start()
  await create('kept', { containers })
  await create('deleted', { containers })
  await create('forgotten', { containers })
  await clock.advance(2_000)
  const renewed = () => api.object<{ spec: { renewTime: string } }>('leases', 'n1', 'kube-node-lease')?.spec.renewTime
  const before = renewed()
  t.ok(before)
  kubelet.controls.lose()
  api.deletePod('deleted', { reason: 'IntolerableTaint' })
  api.deletePod('forgotten', { gracePeriodSeconds: 0 })
  await create('unseen')
  await clock.advance(120_000)
  t.equal(renewed(), before, 'no heartbeat')
  t.equal(pod('unseen')?.status?.phase, 'Pending')
  t.same(signals, [])
  await kubelet.controls.comeBack()
  await clock.advance(2_000)
  t.not(renewed(), before)
  t.same(signals, ['TERM', 'TERM'], 'the orphan and the one that was deleted')
  t.same(hooks.sort(), ['IntolerableTaint', undefined])
  t.equal(pod('deleted'), undefined)
  t.match(container('kept'), { restartCount: 0, state: { running: {} } })
  t.equal(pod('unseen')?.status?.phase, 'Running')
  await kubelet.close()
})

t.test('a kubelet that ends says so of its node, even one without pods', async (t) => {
  const { clock, start, nodeCondition } = machine(t)
  const kubelet = await start()
  const ending = kubelet.shutdown()
  await clock.advance(0)
  await ending
  t.match(nodeCondition('Ready'), { status: 'False', message: 'node is shutting down' })
  await kubelet.close()
})

t.test('a kubelet that ends while its node is lost does not wait for it', async (t) => {
  const { clock, start, create } = machine(t)
  const kubelet = await start()
  await create()
  await clock.advance(2_000)
  kubelet.controls.lose()
  const ended = kubelet.shutdown().then(() => kubelet.close())
  await clock.advance(10_000)
  await ended
  t.ok(kubelet.isLost())
})

t.test('a kubelet that restarts on a lost node is lost as well, until the node returns', async (t) => {
  let port: number | undefined
  const lossMark: LossMark = {
    get port() {
      return port
    },
    set(told) {
      port = told
    },
    clear() {
      port = undefined
    },
  }
  const { clock, begin, start, create, container, nodeCondition } = machine(t, {}, { lossMark, port: 10250 })
  const first = await start()
  first.controls.lose()
  t.equal(port, 10250)
  await first.close()
  await create('new')
  const heartbeat = () => nodeCondition('Ready')?.lastHeartbeatTime
  const before = heartbeat()
  const second = await begin()
  await clock.advance(600_000)
  t.equal(second.isLost(), true)
  t.equal(heartbeat(), before)
  t.equal(container('new'), undefined, 'it knows of nothing')
  const back = second.controls.comeBack()
  await clock.advance(2_000)
  await Promise.all([back, second.ready])
  t.equal(port, undefined)
  t.not(heartbeat(), before)
  t.match(container('new'), { state: { running: {} } })
})

t.test('the mark of a loss is a file', async (t) => {
  const file = path.join(t.testdir(), 'lost')
  t.equal(createLossMark(file).port, undefined)
  createLossMark(file).set(10250)
  t.equal(createLossMark(file).port, 10250)
  createLossMark(file).clear()
  createLossMark(file).clear()
  t.equal(createLossMark(file).port, undefined)
})
