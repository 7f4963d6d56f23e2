import type { Binding, Pod } from '../../../shared/api/types.ts'
import type { CronJob, Job } from '../../../shared/api/workloads/workloads.ts'
import { cronJobs, jobs, nodes, pods } from '../../../shared/client/resources.ts'
import type { Acts, Stage } from './stage.ts'

const name = 'work'
const restartPolicy = 'Never'
const indexed = { completionMode: 'Indexed' }

/** Creates a Job; resolves when as many of its pods are ready as it wants. */
async function start(stage: Stage, count: number, spec: object = {}): Promise<void> {
  const template = stage.template(name, 1, { restartPolicy })
  const whole = { parallelism: count, completions: count, ...spec, template } as Job['spec']
  await stage.create<Job>(jobs, name, { spec: whole })
  await stage.until(async () => (await stage.readyPods()).length === count, 'its pods to be ready')
}

/** Resolves when so many pods of the Job are left that have not ended. */
const leaves = (stage: Stage, count: number): Promise<unknown> =>
  stage.until(async () => {
    const phases = (await stage.pods()).map(({ status }) => status?.phase)
    return phases.filter((phase) => phase === 'Running' || phase === 'Pending').length === count
  }, `${count} pods to be left`)

const ended = (stage: Stage, type: 'Complete' | 'Failed'): Promise<unknown> =>
  stage.until(async () => {
    const { status } = await stage.get<Job>(jobs, name)
    return status?.conditions?.some((one) => one.type === type && one.status === 'True')
  }, `the Job to be ${type}`)

/** Of two pods one runs, and the status of the other, which no kubelet looks after, is written here. */
async function oneEnds(stage: Stage, status: Pod['status'], spec: object): Promise<void> {
  const template = stage.template(name, 1, { restartPolicy, schedulerName: 'by-hand' })
  await stage.create<Job>(jobs, name, { spec: { parallelism: 2, completions: 2, ...spec, template } as Job['spec'] })
  await stage.until(async () => (await stage.pods()).length === 2, 'its pods')
  const [first, second] = (await stage.pods()).sort((a, b) => (indexOf(a) < indexOf(b) ? -1 : 1))
  await bind(stage, second!)
  await stage.until(async () => (await stage.readyPods()).length === 1, 'one to run')
  await stage.patch(pods, first!.metadata.name ?? '', { status }, 'status')
}

const indexOf = ({ metadata }: Pod): string => metadata.labels?.['batch.kubernetes.io/job-completion-index'] ?? ''

async function bind({ client, namespace }: Stage, { metadata }: Pod): Promise<void> {
  const [node] = (await client.list(nodes)).items
  const { name: podName = '' } = metadata
  const target = { apiVersion: 'v1', kind: 'Node', name: node?.metadata.name ?? '' }
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name: podName }, target }
  await client.create<Binding>(pods, binding, { namespace, name: podName, subresource: 'binding' })
}

async function scaled(stage: Stage, spec: object, change: object): Promise<{ pods: number }> {
  await start(stage, 3, spec)
  await stage.patch(jobs, name, { spec: change })
  await leaves(stage, 1)
  return { pods: 2 }
}

/** Creates a Job whose pod ends by itself. */
async function complete(stage: Stage, spec: object = {}): Promise<void> {
  const template = stage.template(name, 1, { restartPolicy }, { command: ['true'] })
  await stage.create<Job>(jobs, name, { spec: { ...spec, template } as Job['spec'] })
  await ended(stage, 'Complete')
}

export const ofJobs: Acts<'Job'> = {
  async suspended(stage) {
    await start(stage, 2)
    await stage.patch(jobs, name, { spec: { suspend: true } })
    await leaves(stage, 0)
    await stage.patch(jobs, name, { spec: { suspend: false } })
    await stage.until(async () => (await stage.readyPods()).length === 2, 'its pods to be there again')
    return { pods: 2 }
  },
  'parallelism lowered': (stage) => scaled(stage, {}, { parallelism: 1 }),
  'parallelism lowered, Indexed': (stage) => scaled(stage, indexed, { parallelism: 1 }),
  'completions lowered, Indexed': (stage) => scaled(stage, indexed, { parallelism: 1, completions: 1 }),
  async 'activeDeadlineSeconds exceeded'(stage) {
    await start(stage, 2)
    await stage.patch(jobs, name, { spec: { activeDeadlineSeconds: 1 } })
    await ended(stage, 'Failed')
    return { pods: 2 }
  },
  async 'backoffLimit exceeded'(stage) {
    await oneEnds(stage, { phase: 'Failed' }, { backoffLimit: 0 })
    await ended(stage, 'Failed')
    return { pods: 1 }
  },
  async 'podFailurePolicy FailJob'(stage) {
    const type = 'example.com/hopeless'
    const rules = [{ action: 'FailJob', onPodConditions: [{ type, status: 'True' }] }]
    const conditions = [{ type, status: 'True' }]
    await oneEnds(stage, { phase: 'Failed', conditions } as Pod['status'], { podFailurePolicy: { rules } })
    await ended(stage, 'Failed')
    return { pods: 1 }
  },
  async 'successPolicy met'(stage) {
    const successPolicy = { rules: [{ succeededIndexes: '0' }] }
    await oneEnds(stage, { phase: 'Succeeded' }, { ...indexed, successPolicy })
    await ended(stage, 'Complete')
    return { pods: 1 }
  },
  async completed(stage) {
    await complete(stage)
    return { pods: 0 }
  },
  async 'ttlSecondsAfterFinished over'(stage) {
    await complete(stage, { ttlSecondsAfterFinished: 10 })
    await stage.until(async () => (await stage.pods()).length === 0, 'its pods to be gone')
    return { pods: 0 }
  },
  async deleted(stage) {
    await start(stage, 2)
    await stage.delete(jobs, name)
    await leaves(stage, 0)
    return { pods: 2 }
  },
}

/** Resolves when the first run's pod is ready. */
async function startRuns(stage: Stage, spec: object = {}): Promise<Pod> {
  const template = stage.template(name, 1, { restartPolicy })
  const jobTemplate = { spec: { template } }
  await stage.create<CronJob>(cronJobs, name, {
    spec: { schedule: '* * * * *', ...spec, jobTemplate } as CronJob['spec'],
  })
  return stage.until(async () => (await stage.readyPods())[0], 'a run')
}

export const ofCronJobs: Acts<'CronJob'> = {
  async suspended(stage) {
    await startRuns(stage, { concurrencyPolicy: 'Forbid' })
    await stage.patch(cronJobs, name, { spec: { suspend: true } })
    await stage.cluster.clock.advance('2m')
    return { pods: 0 }
  },
  async 'concurrencyPolicy Replace'(stage) {
    const first = await startRuns(stage, { concurrencyPolicy: 'Replace' })
    await stage.until(async () => {
      const here = await stage.readyPods()
      return here.length > 0 && here.every(({ metadata }) => metadata.uid !== first.metadata.uid)
    }, 'the next run')
    await stage.patch(cronJobs, name, { spec: { suspend: true } })
    return { pods: 1 }
  },
  async deleted(stage) {
    await startRuns(stage, { concurrencyPolicy: 'Forbid' })
    await stage.delete(cronJobs, name)
    await leaves(stage, 0)
    return { pods: 1 }
  },
}
