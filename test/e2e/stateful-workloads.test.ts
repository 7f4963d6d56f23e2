/** Workloads whose pods have names, or an end, as a user has them. */
import t from 'tap'
import type { Termination } from '../../shared/api/termination.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { CronJob, Job, StatefulSet } from '../../shared/api/workloads/workloads.ts'
import { cronJobs, jobs, pods, statefulSets, terminations } from '../../shared/client/resources.ts'
import { startTestCluster } from '../harness/cluster.ts'
import { findKubectls, kubectlSays } from '../harness/kubectl.ts'
import { politeScript } from '../harness/pods.ts'
import { until } from '../harness/until.ts'

t.setTimeout(360_000)
const namespace = 'default'
const cluster = await startTestCluster(t)
const { client, kubeconfig } = cluster
const newest = findKubectls().at(-1)
const skip = !newest && 'no kubectl here'

const run = (...args: string[]): Promise<string> => kubectlSays(t, newest!, kubeconfig, args)
const apply = (...items: object[]): Promise<string> =>
  kubectlSays(t, newest!, kubeconfig, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
const podsOf = async (app: string) => (await client.list<Pod>(pods, { namespace, labelSelector: `app=${app}` })).items
const namesOf = async (app: string) => (await podsOf(app)).map(({ metadata }) => metadata.name).sort()

t.test('a set of three, one after the other: rolled out, rolled back, scaled, with its claims', { skip }, async (t) => {
  const labels = { app: 'db' }
  await apply(
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'db' },
      spec: { clusterIP: 'None', selector: labels, ports: [{ port: 5432 }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db' },
      spec: {
        serviceName: 'db',
        replicas: 3,
        selector: { matchLabels: labels },
        persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 5,
            containers: [
              {
                name: 'main',
                image: 'busybox:1.37',
                command: ['sh', '-c', `echo "$HOSTNAME $STEP" >> /data/who; ${politeScript}`],
                env: [{ name: 'STEP', value: '1' }],
                volumeMounts: [{ name: 'data', mountPath: '/data' }],
              },
            ],
          },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    },
  )
  const rolledOut = () => run('rollout', 'status', 'statefulset/db', '--timeout=90s')
  const revision = async () => (await client.get<StatefulSet>(statefulSets, { namespace, name: 'db' })).status
  t.match(await rolledOut(), /3 new pods have been updated/)
  const byName = (await podsOf('db')).toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
  t.same(
    byName.map(({ spec }) => [spec.hostname, spec.subdomain]),
    [0, 1, 2].map((ordinal) => [`db-${ordinal}`, 'db']),
  )
  const times = byName.map(({ metadata }) => metadata.creationTimestamp ?? '')
  t.same(times, times.toSorted(), 'in order')
  const first = (await revision())?.updateRevision

  await run('set', 'env', 'statefulset/db', 'STEP=2')
  await rolledOut()
  t.not((await revision())?.updateRevision, first)
  t.match(await run('rollout', 'history', 'statefulset/db'), /\n1 +<none>\n2 +<none>\n/)
  await run('rollout', 'undo', 'statefulset/db')
  await rolledOut()
  await until(async () => (await revision())?.currentRevision === first, { what: 'the first revision again' })
  await run('rollout', 'restart', 'statefulset/db')
  await rolledOut()

  t.equal(await run('exec', 'db-0', '--', 'cat', '/data/who'), 'db-0 1\ndb-0 2\ndb-0 1\ndb-0 1\n', 'its data stayed')
  await run('scale', 'statefulset/db', '--replicas=1')
  await until(async () => (await namesOf('db')).join() === 'db-0', { what: 'the first to be left' })
  await until(async () => (await run('get', 'pvc', '-o', 'name')) === 'persistentvolumeclaim/data-db-0\n', {
    what: 'the claims of the others to go with them',
  })
  const { items } = await client.list<Termination>(terminations, { namespace })
  const reasons = Map.groupBy(items, ({ podName = '' }) => podName)
  const told = (name: string) => reasons.get(name)?.map(({ reason }) => reason)
  t.same(told('db-0'), ['Update', 'Update', 'Update'])
  t.same(told('db-2')?.toSorted(), ['Decommissioned', 'Update', 'Update', 'Update'])
})

t.test('jobs: counted by index, retried, given up, suspended, and gone after their time', { skip }, async (t) => {
  const job = (name: string, script: string, spec: object = {}) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      ...spec,
      template: {
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 2,
          containers: [{ name: 'main', image: 'busybox:1.37', command: ['sh', '-c', script] }],
        },
      },
    },
  })
  const statusOf = async (name: string) => (await client.get<Job>(jobs, { namespace, name })).status
  const ended = (name: string, condition: string) =>
    run('wait', `--for=condition=${condition}`, `job/${name}`, '--timeout=90s')
  const gone = (name: string) =>
    until(async () => (await client.list(pods, { namespace, labelSelector: `job-name=${name}` })).items.length === 0, {
      what: `the pods of ${name} to go`,
    })
  const indexed = { completions: 4, parallelism: 2, completionMode: 'Indexed', backoffLimitPerIndex: 0 }
  await apply(
    job('sums', 'echo part $JOB_COMPLETION_INDEX of $HOSTNAME', { ...indexed, ttlSecondsAfterFinished: 3600 }),
    job('holes', 'test $JOB_COMPLETION_INDEX != 2', indexed),
    job('hopeless', 'exit 42', {
      podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } }] },
    }),
    job('late', politeScript, { activeDeadlineSeconds: 1 }),
    job('later', 'true', { suspend: true }),
    job('many', politeScript, { parallelism: 3, completions: 3 }),
  )
  await ended('sums', 'Complete')
  t.match(await statusOf('sums'), { succeeded: 4, completedIndexes: '0-3', uncountedTerminatedPods: {} })
  const logs = await run('logs', '-l', 'job-name=sums', '--tail=-1')
  t.same(
    logs.trim().split('\n').sort(),
    [0, 1, 2, 3].map((index) => `part ${index} of sums-${index}`),
  )
  await ended('holes', 'Failed')
  t.match(await statusOf('holes'), { succeeded: 3, failed: 1, completedIndexes: '0,1,3', failedIndexes: '2' })
  await ended('hopeless', 'Failed')
  t.match((await statusOf('hopeless'))?.conditions?.at(-1), { reason: 'PodFailurePolicy', message: /exit code 42/ })
  await ended('late', 'Failed')
  t.match((await statusOf('late'))?.conditions?.at(-1), { reason: 'DeadlineExceeded' })
  await gone('late')
  await until(async () => (await statusOf('many'))?.ready === 3, { what: 'three to run' })
  await run('patch', 'job', 'many', '--patch={"spec":{"parallelism":1}}')
  await until(
    async () => {
      const { active, terminating } = (await statusOf('many')) ?? {}
      return active === 1 && terminating === 0
    },
    { what: 'two to leave' },
  )
  t.equal((await statusOf('many'))?.failed, undefined, 'none has failed')
  await ended('later', 'Suspended')
  await run('patch', 'job', 'later', '--patch={"spec":{"suspend":false}}')
  await ended('later', 'Complete')
  await run('patch', 'job', 'sums', '--patch={"spec":{"ttlSecondsAfterFinished":0}}')
  await gone('sums')
  await run('delete', 'job', 'later')
  await gone('later')
})

t.test('a cron job: at its time, once by hand, and not while it is suspended', { skip }, async (t) => {
  const template = {
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'main', image: 'busybox:1.37', command: ['sh', '-c', 'echo tick'] }],
    },
  }
  await apply({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'tick' },
    // Of the jobs of one minute, which have one name, there is one.
    spec: { schedule: '@every 1s', concurrencyPolicy: 'Forbid', jobTemplate: { spec: { template } } },
  })
  const get = () => client.get<CronJob>(cronJobs, { namespace, name: 'tick' })
  const { status } = await until(
    async () => {
      const cronJob = await get()
      return cronJob.status?.lastSuccessfulTime && !cronJob.status.active ? cronJob : undefined
    },
    { what: 'a job to be made and to succeed' },
  )
  t.match(status, { lastScheduleTime: /Z$/ })
  const made = (await client.list<Job>(jobs, { namespace })).items.filter(({ metadata }) =>
    metadata.name?.startsWith('tick-'),
  )
  t.match(made[0]?.metadata, {
    name: /^tick-\d+$/,
    annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': /Z$/ },
    ownerReferences: [{ kind: 'CronJob', name: 'tick' }],
  })
  await run('patch', 'cronjob', 'tick', '--patch={"spec":{"suspend":true}}')
  await run('create', 'job', 'by-hand', '--from=cronjob/tick')
  await run('wait', '--for=condition=Complete', 'job/by-hand', '--timeout=90s')
  await run('delete', 'cronjob', 'tick')
  await until(
    async () =>
      !(await client.list<Job>(jobs, { namespace })).items.some(({ metadata }) => metadata.name?.startsWith('tick-')),
    { what: 'its jobs to go with it' },
  )
})
