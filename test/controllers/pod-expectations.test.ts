import t from 'tap'
import { PodExpectations } from '../../controllers/workloads/pod-expectations.ts'
import type { Pod } from '../../shared/api/types.ts'
import type { Informer } from '../../shared/client/informer.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

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
