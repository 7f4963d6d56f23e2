import { pino } from 'pino'
import t from 'tap'
import { startLoopSet } from '../../controllers/loop-set.ts'
import { startManagerLoops } from '../../controllers/manager-loops.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Deployment } from '../../shared/api/workloads/workloads.ts'
import type { Client, Resource } from '../../shared/client/client.ts'
import { deployments, jobs, pods } from '../../shared/client/resources.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { startTestControlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/until.ts'

const namespace = 'default'
const log = pino({ level: 'silent' })
const chosen = ['serviceaccount', 'replicaset', 'deployment', 'job']
const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { restartPolicy: app === 'web' ? 'Always' : 'Never', containers: [{ name: 'c', image: 'x' }] },
})

t.test('loops that take over while lists come late and in any order create nothing again', async (t) => {
  const { client } = await startTestControlPlane(t, { controllers: ['-*'] })
  const resources = { current: () => [], follow: () => () => {} }
  const start = (through: Client) =>
    startLoopSet({
      client: through,
      clock: realClock,
      log,
      isGated: true,
      start: (context) => startManagerLoops(context, { resources, chosen }),
    })
  const made = async (): Promise<number> => (await client.list<Pod>(pods, { namespace })).items.length
  const before = start(client)
  const spec = { replicas: 3, selector: { matchLabels: { app: 'web' } }, template: template('web') }
  await client.create<object>(deployments, { metadata: { name: 'web', namespace }, spec })
  const job = { parallelism: 2, completions: 2, template: template('job') }
  await client.create<object>(jobs, { metadata: { name: 'job', namespace }, spec: job })
  await until(async () => (await made()) === 5, { what: 'five pods', timeoutMs: 20_000 })
  await before.close()

  const change = async (patch: object): Promise<void> => {
    await client.patch(deployments, { namespace, name: 'web' }, patch)
    await until(
      async () => {
        const { metadata, status } = await client.get<Deployment>(deployments, { namespace, name: 'web' })
        return status?.observedGeneration === metadata.generation
      },
      { what: 'the Deployment to be looked at' },
    )
  }

  const plurals = ['pods', 'replicasets', 'jobs', 'deployments']
  for (const late of plurals) {
    const listed = new Map(plurals.map((plural) => [plural, Promise.withResolvers<void>()]))
    const others = plurals.filter((plural) => plural !== late).map((plural) => listed.get(plural)?.promise)
    const list = async (resource: Resource, ...words: unknown[]) => {
      if (resource.plural === late) {
        await Promise.all(others)
        // A loop that did not wait for this list would work, and write, in these turns.
        for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
      const answer = await client.list(resource, ...(words as []))
      listed.get(resource.plural)?.resolve()
      return answer
    }
    const written: string[] = []
    const noting =
      (verb: 'create' | 'delete') =>
      (resource: Resource, ...words: unknown[]) => {
        if (resource.plural !== 'events') written.push(`${verb} ${resource.plural}`)
        return (client[verb].bind(client) as (...all: unknown[]) => Promise<unknown>)(resource, ...words)
      }
    const loops = start({ ...bound(client), list, create: noting('create'), delete: noting('delete') } as Client)
    await loops.synced()
    // The loops have done their first work when they have answered two changes.
    await change({ metadata: { annotations: { late } }, spec: { paused: true } })
    await change({ spec: { paused: false } })
    await loops.close()
    t.same(written, [], `${late} late`)
  }
})

/** Methods of a class are not copied. */
const bound = (client: Client) => ({
  get: client.get.bind(client),
  create: client.create.bind(client),
  update: client.update.bind(client),
  patch: client.patch.bind(client),
  delete: client.delete.bind(client),
  watch: client.watch.bind(client),
  close: client.close.bind(client),
})
