import { pino } from 'pino'
import t from 'tap'
import type { Informers } from '../../controllers/informers/informers.ts'
import { replicaSetFlavor } from '../../controllers/replica-set/flavors.ts'
import { startReplicaSetController } from '../../controllers/replica-set/replica-set-controller.ts'
import { PodExpectations } from '../../controllers/workloads/pod-expectations.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { ReplicaSet } from '../../shared/api/workloads/workloads.ts'
import type { Client } from '../../shared/client/client.ts'
import type { Informer, InformerHandler } from '../../shared/client/informer.ts'
import { pods as podsResource } from '../../shared/client/resources.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { until } from '../harness/until.ts'

const owner = 'ns/web'
const pod = (uid: string, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { namespace: 'ns', name: 'web-0', uid, ...metadata },
  spec: { containers: [] },
})

/** Of an informer that shows what it is told to. */
function expectations() {
  let shown: Pod | undefined
  const pods = { get: () => shown } as unknown as Informer<Pod>
  const expected = new PodExpectations({ clock: createVirtualClock(), pods })
  const show = (now: Pod | undefined): void => {
    shown = now
  }
  return { expected, show }
}

t.test('a pod that was made is waited for', async (t) => {
  const { expected, show } = expectations()
  expected.made(owner, pod('1'))
  t.notOk(expected.satisfied(owner))
  t.ok(expected.satisfied('ns/other'))
  show(pod('1'))
  expected.observe(owner, pod('1'))
  t.ok(expected.satisfied(owner))
})

t.test('one that the informer shows before the API answers is not', async (t) => {
  const { expected, show } = expectations()
  show(pod('1'))
  expected.made(owner, pod('1'))
  t.ok(expected.satisfied(owner))
  expected.made(owner, pod('2'))
  t.notOk(expected.satisfied(owner), 'another of the name')
})

t.test('a pod that is removed is waited for until it goes', async (t) => {
  for (const [what, end] of [
    ['is going', pod('1', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['is gone', undefined],
    ['is another', pod('2')],
  ] as const) {
    const { expected, show } = expectations()
    show(pod('1'))
    await expected.removing(owner, pod('1'), async () => {})
    expected.observe(owner, pod('1'))
    t.notOk(expected.satisfied(owner), 'news of something else')
    show(end)
    expected.observe(owner, pod('1'))
    t.ok(expected.satisfied(owner), what)
  }
})

t.test('one that cannot be removed is not', async (t) => {
  const { expected, show } = expectations()
  show(pod('1'))
  const fails = async (): Promise<void> => {
    t.notOk(expected.satisfied(owner))
    throw new Error('refused')
  }
  await t.rejects(expected.removing(owner, pod('1'), fails), { message: 'refused' })
  t.ok(expected.satisfied(owner))
})

t.test('what was expected of an owner is not of another of its name', async (t) => {
  const sets = handedOn<ReplicaSet>()
  const made: string[] = []
  const client = {
    create: async (resource: unknown, object: Pod) => {
      if (resource !== podsResource) return object
      const uid = `pod-${made.length}`
      made.push(object.metadata.ownerReferences?.[0]?.uid ?? '')
      return { ...object, metadata: { ...object.metadata, name: uid, uid } }
    },
    update: async (_: unknown, object: ReplicaSet) => object,
  } as unknown as Client
  // An informer that never shows a pod.
  const pods = { get: () => undefined, byIndex: () => [], addHandler: () => {} } as unknown as Informer<Pod>
  const controller = startReplicaSetController(
    {
      client,
      informers: { whole: () => sets.informer, pods: () => pods } as unknown as Informers,
      clock: createVirtualClock(),
      log: pino({ level: 'silent' }),
    },
    replicaSetFlavor,
  )
  const set = (uid: string): ReplicaSet => ({
    metadata: { namespace: 'ns', name: 'web', uid },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template: {} },
  })
  sets.add(set('first'))
  await until(() => made.length === 1, { what: 'the first set to make its pod' })
  sets.remove(set('first'))
  sets.add(set('second'))
  await until(() => made.length === 2, { what: 'the second to make its own' })
  t.same(made, ['first', 'second'])
  await controller.close()
})

/** An informer that holds one object, and tells what the test does to it. */
function handedOn<T extends object>() {
  const handlers: InformerHandler<T>[] = []
  let held: T | undefined
  const informer = {
    get: () => held,
    addHandler: (handler: InformerHandler<T>) => void handlers.push(handler),
  } as unknown as Informer<T>
  return {
    informer,
    add(object: T) {
      held = object
      for (const handler of handlers) handler.onAdd?.(object, false)
    },
    remove(object: T) {
      held = undefined
      for (const handler of handlers) handler.onDelete?.(object)
    },
  }
}
