/** A cluster whose time runs a hundred times faster: half an hour of back-off, and an hour of grace that is not waited for. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { goDuration } from '../../kubelet/pod/go-duration.ts'
import type { Termination } from '../../shared/api/termination.ts'
import type { ContainerStatus, Pod, WatchEvent } from '../../shared/api/types.ts'
import { pods, terminations } from '../../shared/client/resources.ts'
import { parseTime } from '../../shared/clock/timestamp.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { deafScript, followPod, podOf, untilHandled } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

const SCALE = 100
/** Three seconds of the machine, which is busy; still less than there is between a wait that is bounded and one that goes on to double. */
const OVERHEAD_SECONDS = 3 * SCALE
const { client } = await startTestCluster(t, `--time-scale=${SCALE}`, '--shorten-running-kills')
const namespace = 'default'
t.jobs = 4

const containerOf = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.[0]
const restartsOf = (pod: Pod): number => containerOf(pod)?.restartCount ?? 0

const recordOf = (podName: string): Promise<Termination> =>
  until(
    async () =>
      (await client.list<Termination>(terminations, { namespace, fieldSelector: `podName=${podName}` })).items[0],
    { what: `the record of ${podName}` },
  )

/** Seconds, by the API's timestamps, that each restart came after the end before it; by its number, counted from 1. */
function waits(events: WatchEvent<Pod>[]): Map<number, number> {
  // What was shown only while it ran may have been missed: that it ran is told by its end, too.
  const runs = new Map<number, { startedAt?: string; finishedAt?: string }>()
  const note = (run: number, times: { startedAt?: string; finishedAt?: string } = {}) =>
    runs.set(run, { ...runs.get(run), ...times })
  for (const { object } of events) {
    const { restartCount = 0, state, lastState } = containerOf(object) ?? {}
    note(restartCount, state?.running ?? state?.terminated)
    note(state?.waiting ? restartCount : restartCount - 1, lastState?.terminated)
  }
  const found = new Map<number, number>()
  for (const [run, { startedAt }] of runs) {
    const { finishedAt } = runs.get(run - 1) ?? {}
    if (startedAt && finishedAt) found.set(run, (parseTime(startedAt) - parseTime(finishedAt)) / 1000)
  }
  return found
}

async function loop(name: string, pod: Pod, restarts: number): Promise<WatchEvent<Pod>[]> {
  await client.create(pods, pod, { namespace })
  const { events, ...followed } = await followPod(client, { namespace, name })
  await until(() => events.some(({ object }) => restartsOf(object) >= restarts), {
    what: `${restarts} restarts of ${name}`,
    timeoutMs: 100_000,
  })
  const seen = [...events]
  await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 1 })
  await followed.untilDeleted()
  return seen
}

t.test('a container that exits waits ever longer', async (t) => {
  const name = 'crash-loop'
  const events = await loop(name, podOf({ name, command: ['sh', '-c', 'exit 1'] }), 9)
  const waited = waits(events)
  for (const [index, seconds] of [0, 10, 20, 40, 80, 160, 300, 300, 300].entries()) {
    const actual = waited.get(index + 1)
    // What lasts two tenths of a second may come and go between two reports of a busy machine.
    if (actual === undefined && seconds <= 20) continue
    if (actual === undefined) {
      t.fail(`restart ${index + 1} was not seen`)
      continue
    }
    t.ok(actual >= seconds - 1 && actual < seconds + OVERHEAD_SECONDS, `restart ${index + 1} after ${seconds} s`, {
      actual,
    })
  }
})

t.test('a container that a liveness probe restarts, twelve times', async (t) => {
  const name = 'liveness-loop'
  const pod = podOf({ name, command: ['sh', '-c', 'trap "exit 1" TERM; while :; do sleep 0.02; done'] })
  pod.spec.containers[0]!.livenessProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 }
  const events = await loop(name, pod, 12)
  // What the status says while it waits, by the number of restarts so far. A kill by a probe measures from the end before the
  // last, as upstream's: a container that ran for longer than its wait comes back at once, and then nothing is said.
  const told = new Map<number, string>()
  for (const { object } of events) {
    const { state, restartCount = 0 } = containerOf(object) ?? {}
    const delay = state?.waiting?.message?.match(/^back-off (\S+) restarting/)?.[1]
    if (delay) told.set(restartCount, delay)
  }
  const waited = waits(events)
  for (const [restarts, delay] of told) {
    const seconds = Math.min(300, 10 * 2 ** (restarts - 2))
    t.equal(delay, goDuration(seconds * 1000), `after ${restarts} restarts`)
    const actual = waited.get(restarts + 1) ?? -1
    t.ok(actual >= seconds - 1 && actual < seconds + OVERHEAD_SECONDS, 'and so long it waits', { actual })
  }
  t.ok([...told.values()].filter((delay) => delay === '5m0s').length >= 2, 'up to five minutes', { told })
})

t.test('an hour for the pod, a minute for its probe', async (t) => {
  const name = 'wedged'
  const note = (who: string): string =>
    `echo "${who} $KUBESTAGE_TIME_SCALE $KUBESTAGE_GRACE_PERIOD_SECONDS" >> ${join(t.testdirName, 'told')}`
  t.testdir()
  const pod = podOf({
    name,
    command: ['sh', '-c', `${note('container')}; ${deafScript}`],
    preStop: { exec: { command: ['sh', '-c', note('hook')] } },
    hostFolder: t.testdirName,
    spec: { terminationGracePeriodSeconds: 3600 },
  })
  pod.spec.containers[0]!.livenessProbe = {
    exec: { command: ['false'] },
    initialDelaySeconds: 100, // one of the machine, until it is deaf
    failureThreshold: 1,
    periodSeconds: 60,
    terminationGracePeriodSeconds: 60,
  }
  await client.create(pods, pod, { namespace })
  const followed = await followPod(client, { namespace, name })
  const restarted = await followed.until((pod) => restartsOf(pod) > 0, 'to be restarted')
  t.equal(containerOf(restarted)?.lastState?.terminated?.exitCode, 137)
  const record = await recordOf(name)
  t.match(record, { cause: 'LivenessProbe', gracePeriodSeconds: 60, containers: [{ gracePeriodSeconds: 60 }] })
  const killed = record.containers?.[0]?.steps.find((step) => step.name === 'SIGKILL')
  const usedSeconds = (parseTime(killed?.startTime ?? '') - parseTime(record.startTime ?? '')) / 1000
  t.ok(usedSeconds >= 58 && usedSeconds < 60 + OVERHEAD_SECONDS, 'a minute, not an hour', { usedSeconds })
  t.match(readFileSync(join(t.testdirName, 'told'), 'utf8'), /^container 100 36\nhook 100 0\.6\n/)
  await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 1 })
  await followed.untilDeleted()
})

t.test('a kill under way that is shortened', async (t) => {
  const name = 'shortened'
  const spec = { terminationGracePeriodSeconds: 3600 }
  await client.create(pods, podOf({ name, command: ['sh', '-c', deafScript], spec }), { namespace })
  const followed = await followPod(client, { namespace, name })
  await untilHandled(await followed.until(({ status }) => status?.phase === 'Running', 'to run'))
  await client.delete(pods, { namespace, name })
  await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 120 })
  await followed.untilDeleted()
  const record = await recordOf(name)
  t.match(record, { gracePeriodSeconds: 120, requests: [{}, { gracePeriodSeconds: 120 }] })
  const usedSeconds = (parseTime(record.endTime ?? '') - parseTime(record.startTime ?? '')) / 1000
  t.ok(usedSeconds >= 119 && usedSeconds < 120 + OVERHEAD_SECONDS, 'two minutes, not an hour', { usedSeconds })
})
