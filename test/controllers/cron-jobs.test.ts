import t from 'tap'
import { jobFor, planCronJob, withStarted } from '../../controllers/cron-job/plan.ts'
import { parseSchedule } from '../../controllers/cron-job/schedule.ts'
import type { CronJob } from '../../controllers/cron-job/types.ts'
import type { Job } from '../../shared/api/workloads/workloads.ts'
import { toMailTime, toZonedTime } from '../../shared/clock/zone-time.ts'

const ms = (text: string): number => Date.parse(text)
const iso = (at: number | undefined) =>
  at === undefined ? undefined : new Date(at).toISOString().replace(':00.000Z', 'Z')

t.test('when it comes next', async (t) => {
  const rows: [schedule: string, after: string, next: string | undefined, zone?: string][] = [
    ['* * * * *', '2026-01-01T00:00:30Z', '2026-01-01T00:01Z'],
    ['* * * * *', '2026-01-01T00:01:00Z', '2026-01-01T00:02Z'],
    ['*/15 * * * *', '2026-01-01T00:46:00Z', '2026-01-01T01:00Z'],
    ['5/20 * * * *', '2026-01-01T00:05:00Z', '2026-01-01T00:25Z'],
    ['0 9-17/4 * * *', '2026-01-01T13:00:00Z', '2026-01-01T17:00Z'],
    ['0 3 * * *', '2026-12-31T03:00:00Z', '2027-01-01T03:00Z'],
    ['30 1,5 * * mon-wed', '2026-01-01T00:00:00Z', '2026-01-05T01:30Z'],
    ['0 0 29 feb *', '2026-01-01T00:00:00Z', '2028-02-29T00:00Z'],
    ['0 0 31 2 *', '2026-01-01T00:00:00Z', undefined],
    ['0 0 13 * fri', '2026-01-01T00:00:00Z', '2026-01-02T00:00Z'], // either
    ['0 0 13 * *', '2026-01-01T00:00:00Z', '2026-01-13T00:00Z'],
    ['0 0 ? * 5', '2026-01-03T00:00:00Z', '2026-01-09T00:00Z'],
    ['@yearly', '2026-01-01T00:00:00Z', '2027-01-01T00:00Z'],
    ['@monthly', '2026-01-01T00:00:00Z', '2026-02-01T00:00Z'],
    ['@weekly', '2026-01-01T00:00:00Z', '2026-01-04T00:00Z'],
    ['@midnight', '2026-01-01T10:00:00Z', '2026-01-02T00:00Z'],
    ['@hourly', '2026-01-01T10:00:00Z', '2026-01-01T11:00Z'],
    ['@every 1h30m', '2026-01-01T10:00:00Z', '2026-01-01T11:30Z'],
    ['0 3 * * *', '2026-01-01T00:00:00Z', '2026-01-01T02:00Z', 'Europe/Berlin'],
    ['0 3 * * *', '2026-07-01T00:00:00Z', '2026-07-01T01:00Z', 'Europe/Berlin'],
    ['TZ=Asia/Kolkata 0 0 * * *', '2026-01-01T00:00:00Z', '2026-01-01T18:30Z'],
    // Clocks go forward on 29 March at 2:00, and back on 25 October at 3:00.
    ['30 2 * * *', '2026-03-28T12:00:00Z', '2026-03-30T00:30Z', 'Europe/Berlin'],
    ['30 2 * * *', '2026-10-24T12:00:00Z', '2026-10-25T00:30Z', 'Europe/Berlin'],
    // Where a day begins at one o'clock.
    ['30 1 * * *', '2026-09-05T12:00:00Z', '2026-09-06T04:30Z', 'America/Santiago'],
  ]
  for (const [schedule, after, next, zone] of rows)
    t.equal(iso(parseSchedule(schedule, zone).next(ms(after))), next, `${schedule} ${zone ?? ''} after ${after}`)
})

t.test('times in a zone', async (t) => {
  t.equal(toZonedTime(ms('2026-01-01T00:00:05.900Z'), 'UTC'), '2026-01-01T00:00:05Z')
  t.equal(toZonedTime(ms('2026-01-01T00:00:05Z'), 'America/St_Johns'), '2025-12-31T20:30:05-03:30')
  t.equal(toZonedTime(ms('2026-01-01T00:00:05Z'), 'Asia/Kathmandu'), '2026-01-01T05:45:05+05:45')
  t.equal(toMailTime(ms('2026-01-02T03:04:05Z')), 'Fri, 02 Jan 2026 03:04:05 +0000')
  t.throws(() => toZonedTime(0, 'Nowhere/City'), RangeError)
})

const cronJobOf = (spec: Partial<CronJob['spec']> = {}, status?: CronJob['status']): CronJob => ({
  metadata: { name: 'tick', namespace: 'default', uid: 'cron', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    schedule: '*/10 * * * *',
    concurrencyPolicy: 'Allow',
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
    jobTemplate: { metadata: { labels: { a: 'b' } }, spec: { template: {} } },
    ...spec,
  },
  ...(status && { status }),
})
const jobOf = (name: string, end?: 'Complete' | 'Failed', minute = '00'): Job => ({
  metadata: { name, namespace: 'default', uid: name },
  spec: { template: {} },
  status: {
    startTime: `2026-01-01T00:${minute}:00Z`,
    ...(end === 'Complete' && { completionTime: `2026-01-01T00:${minute}:30Z` }),
    ...(end && { conditions: [{ type: end, status: 'True' }] }),
  },
})
const active = (...names: string[]) => ({ active: names.map((name) => ({ name, uid: name, namespace: 'default' })) })
const plan = (cronJob: CronJob, now: string, ...jobs: Job[]) => planCronJob({ cronJob, jobs, nowMs: ms(now) })
const says = ({ events }: ReturnType<typeof plan>) => events.map(({ reason }) => reason)

t.test('whether a job is started', async (t) => {
  const early = plan(cronJobOf(), '2026-01-01T00:04:00Z')
  t.match(early, { start: undefined, againInMs: 360_100 })
  const due = plan(cronJobOf(), '2026-01-01T00:10:00.100Z')
  t.match(due, { start: ms('2026-01-01T00:10:00Z'), againInMs: 600_000 })
  const { start = 0 } = due
  const job = jobFor(cronJobOf(), start)
  t.match(job.metadata, {
    name: `tick-${start / 60_000}`,
    labels: { a: 'b' },
    annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T00:10:00Z' },
    ownerReferences: [{ kind: 'CronJob', uid: 'cron', controller: true }],
  })
  const status = withStarted(due.status, { ...job, metadata: { ...job.metadata, uid: 'u' } }, start)
  t.match(status, { lastScheduleTime: '2026-01-01T00:10:00Z', active: [{ kind: 'Job', uid: 'u' }] })
  const running = { ...job, metadata: { ...job.metadata, uid: 'u' } }
  t.equal(plan(cronJobOf({}, status), '2026-01-01T00:10:01Z', running).start, undefined, 'once')
  t.equal(plan(cronJobOf({}, { ...status, active: [] }), '2026-01-01T00:10:01Z').start, undefined)
  t.match(plan(cronJobOf({ suspend: true }), '2026-01-01T00:10:01Z'), { start: undefined, againInMs: undefined })
  const late = plan(cronJobOf(), '2026-01-01T01:05:00Z')
  t.equal(late.start, ms('2026-01-01T01:00:00Z'), 'the last one that was missed')
  const veryLate = plan(cronJobOf(), '2026-02-01T00:05:00Z')
  t.equal(veryLate.start, ms('2026-02-01T00:00:00Z'))
  t.same(says(veryLate), ['TooManyMissedTimes'])
  const missed = plan(cronJobOf({ startingDeadlineSeconds: 60 }), '2026-01-01T00:12:00Z')
  t.equal(missed.start, undefined)
  t.equal(plan(cronJobOf({ startingDeadlineSeconds: 600 }), '2026-01-01T00:12:00Z').start, ms('2026-01-01T00:10:00Z'))
})

t.test('while another one runs', async (t) => {
  const now = '2026-01-01T00:20:01Z'
  const status = { ...active('tick-old'), lastScheduleTime: '2026-01-01T00:10:00Z' }
  const allowed = plan(cronJobOf({}, status), now, jobOf('tick-old'))
  t.match([allowed.start, allowed.remove], [ms('2026-01-01T00:20:00Z'), []])
  const forbidden = plan(cronJobOf({ concurrencyPolicy: 'Forbid' }, status), now, jobOf('tick-old'))
  t.same([forbidden.start, says(forbidden)], [undefined, ['JobAlreadyActive']])
  const replaced = plan(cronJobOf({ concurrencyPolicy: 'Replace' }, status), now, jobOf('tick-old'))
  t.match(replaced, { start: Number, remove: [{ metadata: { name: 'tick-old' } }], status: { active: [] } })
})

t.test('jobs that ended, went missing, or came from elsewhere', async (t) => {
  const at = '2026-01-01T00:05:00Z'
  const done = plan(cronJobOf({}, active('a', 'b', 'gone')), at, jobOf('a', 'Complete', '03'), jobOf('b', 'Failed'))
  t.same(says(done), ['SawCompletedJob', 'SawCompletedJob', 'MissingJob'])
  t.same(done.status, { active: [], lastSuccessfulTime: '2026-01-01T00:03:30Z' })
  t.same(says(plan(cronJobOf(), at, jobOf('other'))), ['UnexpectedJob'])
  const jobs = ['05', '01', '04', '02', '03'].map((minute) => jobOf(`ok-${minute}`, 'Complete', minute))
  const failed = [jobOf('bad-2', 'Failed'), jobOf('bad-1', 'Failed')]
  const names = plan(cronJobOf(), at, ...jobs, ...failed).remove.map(({ metadata }) => metadata.name)
  t.same(names, ['ok-01', 'ok-02', 'bad-1'], 'the oldest beyond the limits')
})
