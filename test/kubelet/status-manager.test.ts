import t from 'tap'
import { StatusManager } from '../../kubelet/status/status-manager.ts'
import { StatusError } from '../../shared/api/status/status-error.ts'
import { conflict, notFound } from '../../shared/api/status/status-errors.ts'
import type { Pod, PodStatus } from '../../shared/api/types.ts'
import type { Client, ObjectRef, Resource } from '../../shared/client/client.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

const WRITERS = 8
const CROWD = 32

const podNamed = (name: string): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1' },
  spec: { containers: [{ name: 'c', image: 'x' }] },
  status: { phase: 'Pending', qosClass: 'BestEffort' },
})
const saying = (message: string): PodStatus => ({ phase: 'Pending', qosClass: 'BestEffort', message, conditions: [] })

/** A manager whose writes wait until they are let through, or refused. */
function held({
  brief = false,
  isFinished = () => false,
  mayRun = true,
  object = podNamed,
  get = podNamed,
}: {
  brief?: boolean
  isFinished?(): boolean
  mayRun?: boolean
  object?(name: string): Pod
  get?(name: string): Pod
} = {}) {
  const clock = createVirtualClock()
  const writes: { name: string; message?: string; pass(error?: Error): void }[] = []
  const all: { name: string; message?: string }[] = []
  const errors: unknown[] = []
  const removed: string[] = []
  const client = {
    patch: (_resource: Resource, { name }: ObjectRef, { status }: { status: PodStatus }) =>
      new Promise<Pod>((resolve, reject) => {
        const answer = object(name)
        Object.assign(answer.metadata, { resourceVersion: '2' })
        Object.assign(answer.status ?? {}, status)
        all.push({ name, message: status.message })
        writes.push({ name, message: status.message, pass: (error) => (error ? reject(error) : resolve(answer)) })
      }),
    get: async (_resource: Resource, { name }: ObjectRef) => get(name),
    delete: async (_resource: Resource, { name }: ObjectRef) => void removed.push(name),
  }
  const manager = new StatusManager({
    client: client as unknown as Client,
    clock,
    latest: (pod) => pod,
    mayHaveRunningContainers: () => mayRun,
    isFinished,
    brief,
    onError: (error) => errors.push(error),
  })
  const say = (name: string, ...messages: string[]) => {
    for (const message of messages) manager.set(podNamed(name), saying(message))
  }
  /** Lets the oldest write go on, and what follows from it happen. */
  const pass = async (error?: Error) => {
    writes.shift()?.pass(error)
    await clock.advance(0)
  }
  const waiting = () => writes.map(({ name, message }) => `${name}: ${message}`)
  const told = (name: string) => all.filter((write) => write.name === name).map(({ message }) => message)
  return { clock, errors, manager, removed, say, pass, waiting, told }
}

t.test('the statuses of one pod are all told, in their order', async (t) => {
  const { say, pass, waiting } = held()
  say('a', '1', '2', '3')
  for (const message of ['1', '2', '3']) {
    t.same(waiting(), [`a: ${message}`])
    await pass()
  }
  t.same(waiting(), [])
})

t.test('of many pods a few are written at the same time, and those behind a crowd with what is newest', async (t) => {
  const { say, pass, waiting, told } = held()
  const pods = Array.from({ length: WRITERS + CROWD }, (_, i) => `pod-${i}`)
  for (const name of pods.slice(0, -1)) say(name, 'early')
  say('just-in-time', '1', '2')
  say('late', '1', '2')
  t.same(
    waiting(),
    pods.slice(0, WRITERS).map((name) => `${name}: early`),
  )
  say('late', '3')
  while (waiting().length > 0) await pass()
  t.same(told('just-in-time'), ['1', '2'])
  t.same(told('late'), ['3'], 'what was overtaken is never told')
  for (const name of pods.slice(0, -1)) t.same(told(name), ['early'])
})

t.test('a write that fails ends its turn, and what it was to say comes again', async (t) => {
  const { clock, say, pass, waiting, errors } = held()
  for (let i = 0; i < WRITERS; i++) say(`pod-${i}`, 'early')
  say('late', '1')
  await pass(new Error('the network'))
  t.same(waiting().at(-1), 'late: 1')
  t.equal(errors.length, 1)
  for (let i = 0; i < WRITERS; i++) await pass()
  await clock.advance(1_000)
  t.same(waiting(), ['pod-0: early'])
})

t.test('a conflict is solved within the turn; a pod that is gone is told nothing more', async (t) => {
  const { say, pass, waiting, errors } = held()
  say('a', '1', '2')
  await pass(conflict({ group: '', plural: 'pods' }, 'a', 'the object has been modified'))
  t.same(waiting(), ['a: 1'])
  await pass(notFound({ group: '', plural: 'pods' }, 'a'))
  t.same(waiting(), [])
  t.equal(errors.length, 0)
})

t.test('told briefly, of what is said in one turn of the event loop only the last counts', async (t) => {
  const { clock, say, pass, waiting } = held({ brief: true })
  say('a', '1', '2', '3')
  t.same(waiting(), [], 'more may come')
  await clock.advance(0)
  t.same(waiting(), ['a: 3'])
  say('a', '4', '5')
  await pass()
  t.same(waiting(), ['a: 5'])
})

t.test('with brief reports, a pod that is over is removed without a status, unless a finalizer keeps it', async (t) => {
  const { clock, manager, removed, waiting } = held({ brief: true, isFinished: () => true })
  const ending = (name: string, finalizers: string[]): Pod => {
    const { metadata, ...rest } = podNamed(name)
    return { ...rest, metadata: { ...metadata, finalizers, deletionTimestamp: '2026-11-21T12:00:00Z' } }
  }
  manager.set(ending('a', []), saying('it ends'))
  manager.terminate(ending('a', []), undefined)
  manager.terminate(ending('kept', ['example.com/look']), undefined)
  await clock.advance(0)
  t.same(removed, ['a'])
  t.same(waiting(), ['kept: undefined'])
})

t.test('a pod that is over is removed when its last status is written, also if others still wait', async (t) => {
  const object = (name: string): Pod => {
    const { metadata, ...rest } = podNamed(name)
    const deletionTimestamp = '2026-11-21T12:00:00Z'
    return { ...rest, metadata: { ...metadata, deletionTimestamp }, status: { ...rest.status, phase: 'Failed' } }
  }
  const { clock, manager, pass, removed, waiting } = held({ isFinished: () => true, mayRun: false, object })
  const ending = object('a')
  manager.set(ending, { ...saying('failed'), phase: 'Failed' })
  manager.set(ending, { ...saying('and why'), phase: 'Failed' })
  await pass()
  await clock.advance(1_000)
  t.same([removed, waiting()], [[], ['a: and why']])
  await pass()
  await clock.advance(1_000)
  t.same(removed, ['a'])
})

t.test('a pod that is gone: the node authorizer knows nothing of it any more', async (t) => {
  const message = `pods "a" is forbidden: User "system:node:n1" cannot get resource "pods" in API group "" in the namespace "default": no relationship found between node 'n1' and this object`
  const get = (): never => {
    throw new StatusError({ code: 403, reason: 'Forbidden', message })
  }
  const { clock, say, pass, waiting, errors } = held({ get })
  say('a', '1')
  await pass(conflict({ group: '', plural: 'pods' }, 'a', 'Precondition failed'))
  await clock.advance(60_000)
  t.same(errors, [], 'no trouble')
  t.same(waiting(), [], 'nothing is written again')
})
