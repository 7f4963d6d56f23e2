import t from 'tap'
import type { TrimmedPod } from '../../controllers/informers/trimmed-pod.ts'
import { formatIndexes, parseIndexes } from '../../controllers/job/indexes.ts'
import { makeJobs } from '../../controllers/job/job-pod.ts'
import { awaitedFailures, sizeOf } from '../../controllers/job/job-size.ts'
import { countedStatus, notedStatus } from '../../controllers/job/job-status.ts'
import { viewOf } from '../../controllers/job/job-view.ts'
import { completion, deadlineInMs, outcomeOf } from '../../controllers/job/outcome.ts'
import { failureVerdict, metSuccessPolicy } from '../../controllers/job/policies.ts'
import { timeLeftMs } from '../../controllers/ttl-after-finished.ts'
import { jobEnd } from '../../controllers/workloads/job-end.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')
const at = (secondsAgo: number): string => new Date(nowMs - secondsAgo * 1000).toISOString()
const jobOf = (spec: Partial<Job['spec']> = {}, status: object = {}): Job => ({
  metadata: { name: 'sums', namespace: 'default', uid: 'job' },
  spec: { parallelism: 1, completions: 1, backoffLimit: 6, template: {}, ...spec },
  status,
})
const indexed = (spec: Partial<Job['spec']> = {}, status: object = {}): Job =>
  jobOf({ completionMode: 'Indexed', completions: 4, parallelism: 2, ...spec }, status)

interface PodParts {
  phase?: string
  index?: number
  /** Seconds ago. */
  ended?: number
  exitCode?: number
  going?: boolean
  tracked?: boolean
  failures?: number
  restarts?: number
  conditions?: { type: string; status: string }[]
}
let made = 0
function podOf({ phase = 'Running', ended = 0, exitCode = 1, tracked = true, ...more }: PodParts = {}): Pod {
  const { index, failures, going, restarts = 0, conditions = [] } = more
  const uid = `pod-${++made}`
  const isOver = phase === 'Failed' || phase === 'Succeeded'
  const state = isOver ? { terminated: { exitCode: phase === 'Failed' ? exitCode : 0, finishedAt: at(ended) } } : {}
  return {
    metadata: {
      name: uid,
      namespace: 'default',
      uid,
      creationTimestamp: at(1000 - made),
      finalizers: tracked ? ['batch.kubernetes.io/job-tracking'] : [],
      labels: index === undefined ? {} : { 'batch.kubernetes.io/job-completion-index': String(index) },
      ...(failures !== undefined && {
        annotations: { 'batch.kubernetes.io/job-index-failure-count': String(failures) },
      }),
      ...(going && { deletionTimestamp: at(-30), deletionGracePeriodSeconds: 30 }),
    },
    spec: { containers: [] },
    status: {
      phase,
      conditions: [{ type: 'Ready', status: phase === 'Running' ? 'True' : 'False' }, ...conditions],
      containerStatuses: [{ name: 'main', image: '', imageID: '', ready: false, restartCount: restarts, state }],
    },
  }
}
const view = (job: Job, ...pods: TrimmedPod[]) => viewOf(job, pods, { nowMs, released: new Set() })
const succeeded = (parts: PodParts = {}) => podOf({ phase: 'Succeeded', ...parts })
const failed = (parts: PodParts = {}) => podOf({ phase: 'Failed', ...parts })
const never = { restartPolicy: 'Never', containers: [] }

t.test('indexes as text', async (t) => {
  const texts = ['', '0', '0,1', '0-2', '1,3-5,7,9,10']
  for (const text of texts) t.equal(formatIndexes(parseIndexes(text, 100)), text)
  t.same([...parseIndexes('1,3-9', 5)], [1, 3, 4], 'below the limit')
  t.same([...parseIndexes('a,-1,2-b,3', 5)], [3])
})

t.test('how many pods', async (t) => {
  const plan = (job: Job, ...pods: Pod[]) => {
    const { create, remove, againInMs } = sizeOf(view(job, ...pods))
    return [create.length, remove.length, againInMs && Math.round(againInMs / 1000)]
  }
  const three = jobOf({ parallelism: 2, completions: 3 })
  t.same(plan(three), [2, 0, undefined])
  t.same(plan(three, podOf(), succeeded()), [1, 0, undefined])
  t.same(plan(three, podOf(), succeeded(), succeeded()), [0, 0, undefined], 'no more than are missing')
  t.same(plan(three, podOf(), podOf(), podOf()), [0, 1, undefined])
  const endless = jobOf({ parallelism: 3, completions: undefined })
  t.same(plan(endless, podOf()), [2, 0, undefined])
  t.same(plan(endless, podOf(), succeeded()), [0, 0, undefined], 'one succeeded: those that run may end')
  t.same(plan(jobOf({ suspend: true }), podOf()), [0, 1, undefined])
  t.same(plan(jobOf(), failed({ ended: 4 })), [0, 0, 6], 'ten seconds after the first failure')
  t.same(plan(jobOf(), failed({ ended: 60 }), failed({ ended: 15 })), [0, 0, 5], 'twenty after the second')
  t.same(plan(jobOf(), ...Array.from({ length: 9 }, () => failed({ ended: 100 }))), [0, 0, 500], 'ten minutes at most')
  t.same(plan(jobOf({ completions: 3 }), failed({ ended: 9 }), succeeded({ ended: 3 })), [1, 0, undefined])
  t.same(plan(jobOf(), podOf({ going: true })), [0, 0, 10], 'one that is about to go has failed')
  t.same(plan(jobOf(), podOf({ going: true, tracked: false })), [1, 0, undefined], 'unless it was dismissed')
  const patient = { podReplacementPolicy: 'Failed' }
  t.same(plan(jobOf(patient), podOf({ going: true })), [0, 0, undefined], 'unless it is to be over first')
})

t.test('pods with an index', async (t) => {
  const plan = (job: Job, ...pods: TrimmedPod[]) => {
    const { create, remove } = sizeOf(view(job, ...pods))
    return [create.map(({ index }) => index), remove.map(({ pod }) => pods.indexOf(pod))]
  }
  t.same(plan(indexed()), [[0, 1], []])
  t.same(plan(indexed(), succeeded({ index: 0 }), podOf({ index: 2 })), [[1], []])
  t.same(plan(indexed({}, { completedIndexes: '0,2', succeeded: 2 })), [[1, 3], []])
  t.same(plan(indexed({ parallelism: 4 }), podOf({ index: 1 }), podOf({ index: 1 }), podOf({ index: 9 })), [[], [1, 2]])
  const each = indexed({ backoffLimitPerIndex: 1, parallelism: 4 })
  const ended = failed({ index: 1, ended: 100, failures: 0 })
  const seen = view(each, ended, failed({ index: 2, ended: 100, failures: 1 }), failed({ index: 3, failures: 0 }))
  t.same([...(seen.failedIndexes ?? [])], [2], 'its second failure')
  t.match(sizeOf(seen), {
    create: [
      { index: 0, failures: { counted: 0, ignored: 0 } },
      { index: 1, failures: { counted: 1, ignored: 0 } },
    ],
    againInMs: 10_000,
  })
  t.ok(awaitedFailures(seen).has(ended), 'kept until another has taken its place')
  const pod: Pod = { metadata: {}, spec: { containers: [{ name: 'main', image: '' }] } }
  makeJobs(pod, each, { index: 1, failures: { counted: 1, ignored: 0 } })
  t.match(pod, {
    metadata: {
      generateName: 'sums-1-',
      finalizers: ['batch.kubernetes.io/job-tracking'],
      labels: { 'batch.kubernetes.io/job-completion-index': '1' },
      annotations: {
        'batch.kubernetes.io/job-completion-index': '1',
        'batch.kubernetes.io/job-index-failure-count': '1',
      },
    },
    spec: { hostname: 'sums-1', containers: [{ env: [{ name: 'JOB_COMPLETION_INDEX' }] }] },
  })
})

t.test('what a failure means', async (t) => {
  const withRules = (...rules: object[]): Job => jobOf({ podFailurePolicy: { rules } } as Partial<Job['spec']>)
  const codes = (action: string, operator: string, values: number[], containerName?: string) => ({
    action,
    onExitCodes: { operator, values, containerName },
  })
  const of = (job: Job, parts: PodParts = {}) => failureVerdict(job, failed(parts))
  t.same(of(jobOf()), { action: 'Count' })
  const job = withRules(
    codes('FailJob', 'In', [42], 'main'),
    codes('Ignore', 'In', [43]),
    { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    codes('FailIndex', 'In', [44]),
    codes('FailJob', 'NotIn', [1]),
  )
  t.match(of(job, { exitCode: 42 }), {
    action: 'FailJob',
    message: /^Container main for pod default\/pod-\d+ failed with exit code 42 matching FailJob rule at index 0$/,
  })
  t.same(of(job, { exitCode: 43 }), { action: 'Ignore' })
  t.same(of(job, { conditions: [{ type: 'DisruptionTarget', status: 'True' }] }), { action: 'Ignore' })
  t.same(of(job, { exitCode: 44 }), { action: 'Count' }, 'no index has a limit of its own')
  t.same(of(job, { exitCode: 1 }), { action: 'Count' })
  t.match(of(job, { exitCode: 5 }), { action: 'FailJob' })
  t.equal(view(job, failed({ exitCode: 43 })).failed, 0, 'ignored')
  t.same(failureVerdict(job, podOf({ going: true })), { action: 'Count' })
})

t.test('when a job has succeeded early', async (t) => {
  const met = (rules: object[], ...done: number[]) =>
    metSuccessPolicy(indexed({ successPolicy: { rules } } as Partial<Job['spec']>), new Set(done))
  t.equal(met([{ succeededIndexes: '0-1' }], 0), undefined)
  t.equal(met([{ succeededIndexes: '0-1' }], 0, 1), 'Matched rules at index 0')
  t.equal(
    met([{ succeededIndexes: '3' }, { succeededIndexes: '0-2', succeededCount: 2 }], 0, 2),
    'Matched rules at index 1',
  )
  t.equal(met([{ succeededCount: 3 }], 0, 2), undefined)
  t.equal(met([{ succeededCount: 3 }], 0, 2, 3), 'Matched rules at index 0')
})

t.test('how it ends', async (t) => {
  const reason = (job: Job, ...pods: Pod[]) => outcomeOf(view(job, ...pods))?.reason
  t.equal(reason(jobOf({ backoffLimit: 1 }), failed()), undefined)
  t.equal(reason(jobOf({ backoffLimit: 1 }), failed(), failed()), 'BackoffLimitExceeded')
  t.equal(reason(jobOf({ backoffLimit: 1 }, { failed: 1 }), failed()), 'BackoffLimitExceeded')
  const restarts = (backoffLimit: number, count: number) =>
    reason(
      jobOf({ backoffLimit, template: { spec: { containers: [], restartPolicy: 'OnFailure' } } }),
      podOf({ restarts: count }),
    )
  t.same([restarts(2, 1), restarts(2, 2), restarts(0, 1)], [undefined, 'BackoffLimitExceeded', 'BackoffLimitExceeded'])
  const started = { startTime: at(10) }
  t.equal(reason(jobOf({ activeDeadlineSeconds: 10 }, started)), 'DeadlineExceeded')
  t.equal(reason(jobOf({ activeDeadlineSeconds: 11 }, started)), undefined)
  t.equal(deadlineInMs({ job: jobOf({ activeDeadlineSeconds: 11 }, started), nowMs }), 1000)
  t.equal(reason(jobOf({ activeDeadlineSeconds: 1, suspend: true }, started)), undefined)
  const each = (maxFailedIndexes?: number) => indexed({ backoffLimitPerIndex: 0, maxFailedIndexes, completions: 2 })
  t.equal(reason(each(), failed({ index: 0 })), undefined, 'the other may go on')
  t.equal(reason(each(), failed({ index: 0 }), succeeded({ index: 1 })), 'FailedIndexes')
  t.equal(reason(each(0), failed({ index: 0 })), 'MaxFailedIndexesExceeded')
  const decided = { conditions: [{ type: 'FailureTarget', status: 'True', reason: 'PodFailurePolicy' }] }
  t.equal(reason(jobOf({}, decided), succeeded()), 'PodFailurePolicy', 'stays')
  t.equal(completion(view(jobOf(), succeeded()), 0)?.reason, 'CompletionsReached')
  t.equal(completion(view(jobOf(), succeeded()), 1), undefined, 'another one still runs')
  t.equal(completion(view(jobOf({ completions: undefined })), 0), undefined)
})

t.test('each end is counted once', async (t) => {
  const job = jobOf({ completions: 3, template: { spec: never } })
  const [one, other] = [succeeded(), failed()]
  const looked = { active: 1, ready: 1, outcome: undefined, looked: true }
  const noted = notedStatus(view(job, one, other, podOf()), looked).status
  t.match(noted, {
    active: 1,
    ready: 1,
    uncountedTerminatedPods: { succeeded: [one.metadata.uid], failed: [other.metadata.uid] },
  })
  t.ok(noted.startTime)
  const again = view({ ...job, status: noted }, one, other)
  t.same([again.succeeded, again.failed, again.ended.failed], [1, 1, []], 'noted: no news')
  const letGo = (...pods: Pick<TrimmedPod, 'metadata'>[]) => ({
    outcome: undefined,
    active: 1,
    released: new Set(pods.map(({ metadata }) => metadata.uid ?? '')),
  })
  const half = countedStatus(again, noted, letGo(one)).status
  t.match(half, { succeeded: 1, uncountedTerminatedPods: { failed: [other.metadata.uid] } })
  t.equal(half.failed, undefined)
  t.match(countedStatus(again, noted, letGo(one, other)).status, {
    succeeded: 1,
    failed: 1,
    uncountedTerminatedPods: {},
  })
  const shown = viewOf({ ...job, status: { succeeded: 1 } }, [one], { nowMs, released: new Set([one.metadata.uid!]) })
  t.equal(shown.succeeded, 1, 'let go, though it does not show yet')
  const numbered = indexed({}, { completedIndexes: '0', succeeded: 1 })
  const seen = view(numbered, succeeded({ index: 0 }), succeeded({ index: 1 }))
  t.equal(seen.succeeded, 2, 'an index counts once')
  const status = countedStatus(seen, notedStatus(seen, looked).status, letGo(...seen.pods)).status
  t.match(status, { succeeded: 2, completedIndexes: '0,1', uncountedTerminatedPods: {} })
})

t.test('its end, when nothing is left of its pods', async (t) => {
  const outcome = { type: 'FailureTarget', reason: 'DeadlineExceeded', message: 'too long' } as const
  const ended = (...pods: Pod[]) => {
    const seen = view(jobOf(), ...pods)
    const { status } = notedStatus(seen, { active: 0, ready: 0, outcome, looked: false })
    return countedStatus(seen, status, { outcome, active: 0, released: new Set() })
  }
  const going = ended(podOf({ going: true, tracked: false }))
  t.match(going.status.conditions, [{ type: 'FailureTarget', reason: 'DeadlineExceeded' }])
  t.equal(going.status.conditions?.length, 1)
  const over = ended()
  t.match(over, {
    change: 'failed',
    status: { conditions: [{ type: 'FailureTarget' }, { type: 'Failed', message: 'too long' }] },
  })
  t.ok(jobEnd(jobOf({}, over.status)))
  t.notOk(jobEnd(jobOf({}, going.status)))
  const good = { ...outcome, type: 'SuccessCriteriaMet' } as const
  const { status } = countedStatus(view(jobOf()), {}, { outcome: good, active: 0, released: new Set() })
  t.match(status, { completionTime: /^2026/, conditions: [{ type: 'Complete' }] })
  const kept = jobOf({ ttlSecondsAfterFinished: 60 }, status)
  t.equal(timeLeftMs(kept, nowMs + 20_000), 40_000)
  t.equal(timeLeftMs(kept, nowMs + 90_000), 0)
  t.equal(timeLeftMs(jobOf({ ttlSecondsAfterFinished: 60 }), nowMs), undefined)
  t.equal(timeLeftMs(jobOf({}, status), nowMs), undefined)
})

t.test('suspended and resumed', async (t) => {
  const looked = { active: 0, ready: 0, outcome: undefined, looked: true }
  const first = notedStatus(view(jobOf({ suspend: true })), looked)
  t.equal(first.change, 'suspended')
  t.equal(first.status.startTime, undefined)
  t.equal(notedStatus(view(jobOf({ suspend: true }, first.status)), looked).change, undefined)
  const again = notedStatus(view(jobOf({}, first.status)), looked)
  t.match(again, {
    change: 'resumed',
    status: { startTime: /^2026/, conditions: [{ type: 'Suspended', status: 'False' }] },
  })
  t.equal(notedStatus(view(jobOf()), looked).status.conditions, undefined)
})
