/**
 * No pod that the API accepts can wedge the kubelet: whatever it asks for and whatever its programs do, once it is deleted it ends,
 * within its grace and the margins that are documented. Real registry and real kubelet, virtual time, programs without processes.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import type { ApiContext } from '../../../apiserver/http/api-context.ts'
import { createLocalClient } from '../../../apiserver/local-client.ts'
import { Catalog } from '../../../apiserver/registry/catalog.ts'
import { ObjectCaches } from '../../../apiserver/registry/object-caches.ts'
import { Registry } from '../../../apiserver/registry/registry.ts'
import { resources } from '../../../apiserver/resources/index.ts'
import { createMemoryStorage } from '../../../apiserver/storage/memory.ts'
import { defaultWorkLimits } from '../../../apiserver/work-limits.ts'
import { type Kubelet, startKubelet } from '../../../kubelet/kubelet.ts'
import { createSimulatedRuntime } from '../../../kubelet/runtime/simulated.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import type { Node, Pod } from '../../../shared/api/types.ts'
import type { Client } from '../../../shared/client/client.ts'
import { nodes, pods } from '../../../shared/client/resources.ts'
import { createVirtualClock, type VirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { defaultFeatureGates } from '../../../shared/config/feature-gates.ts'
import { simulatedActions } from '../simulated-actions.ts'
import { type Subject, secondsToEnd, subject } from './arbitrary-pod.ts'

const namespace = 'default'
/** Always the same pods, unless others are asked for: `KUBESTAGE_SEED=$RANDOM KUBESTAGE_RUNS=500`. */
const seed = Number(process.env.KUBESTAGE_SEED ?? 2238)
const numRuns = Number(process.env.KUBESTAGE_RUNS ?? 20)
/**
 * Two seconds for a process that just received TERM, one for the last look, ten and their spread for one failed try,
 * one for rounding.
 */
const MARGIN_SECONDS = 2 + 1 + 15 + 1
function startStore(clock: VirtualClock): Client {
  const catalog = new Catalog(resources)
  const registry = new Registry({
    objects: new ObjectCaches({ catalog, storage: createMemoryStorage() }),
    clock,
    featureGates: defaultFeatureGates,
    limits: defaultWorkLimits,
    random: () => 0,
  })
  const log = pino({ level: 'silent' })
  const user = { name: 'system:node:n1', groups: ['system:masters'] }
  return createLocalClient({ catalog, registry, clock, log } as unknown as ApiContext, user)
}

interface Stage {
  clock: VirtualClock
  client: Client
  kubelet: Kubelet
  /** UIDs of the pods whose containers run. */
  running(): Promise<string[]>
  /** By the UID of their pods. */
  subjects: Map<string, Subject>
}

async function startStage(rootDir: string): Promise<Stage> {
  const clock = createVirtualClock()
  const client = startStore(clock)
  const subjects = new Map<string, Subject>()
  const runtime = createSimulatedRuntime({
    clock,
    behaviour: ({ name, logPath }) => {
      const uid = [...subjects.keys()].find((candidate) => logPath.includes(candidate))
      return (uid && subjects.get(uid)?.programs[name]) || {}
    },
    exec: ({ podUid }) => subjects.get(podUid)?.command ?? {},
  })
  const kubelet = await startKubelet({
    client,
    clock,
    log: { info() {}, warn() {}, error() {} },
    runtime,
    rootDir,
    actions: simulatedActions(clock),
    nodeName: 'n1',
    nodeIP: '127.0.0.1',
    port: 10250,
    random: () => 0.5,
  })
  let ready = false
  void kubelet.ready.then(() => (ready = true))
  await clock.advanceUntil(() => ready)
  const running = async () =>
    (await runtime.list()).containers.filter(({ state }) => state === 'running').map(({ podUid }) => podUid)
  return { clock, client, kubelet, subjects, running }
}

/** Pods that the API refuses need no further check. */
async function accepted(client: Client, pod: Pod, name: string): Promise<Pod | undefined> {
  try {
    return await client.create<Pod>(pods, { ...pod, metadata: { ...pod.metadata, name } }, { namespace })
  } catch (error) {
    if (error instanceof StatusError && (error.code === 422 || error.code === 400)) return undefined
    throw error
  }
}

interface Life {
  name: string
  uid: string
  subject: Subject
  /** The latest that it may be gone, by the clock's monotonic time. */
  deadlineMs: number
}

/** Resolves to the names of those that were there for too long, or left something running. */
async function overdue({ clock, client, running, subjects }: Stage, wanted: Subject[]): Promise<string[]> {
  const lives: Life[] = []
  for (const [index, one] of wanted.entries()) {
    const name = `p${index}`
    const { uid = '' } = (await accepted(client, one.pod, name))?.metadata ?? {}
    if (uid) lives.push({ name, uid, subject: one, deadlineMs: 0 })
    subjects.set(uid, one)
  }
  const beganMs = clock.monotonic()
  for (const life of lives.toSorted((a, b) => a.subject.deletedAfterMs - b.subject.deletedAfterMs)) {
    const { deletedAfterMs, gracePeriodSeconds } = life.subject
    await clock.advance(beganMs + deletedAfterMs - clock.monotonic())
    await client.delete(pods, { namespace, name: life.name }, { gracePeriodSeconds })
    const seconds = secondsToEnd(life.subject) + MARGIN_SECONDS
    life.deadlineMs = clock.monotonic() + seconds * 1000
  }
  const left: string[] = []
  for (const { name, uid, deadlineMs } of lives.toSorted((a, b) => a.deadlineMs - b.deadlineMs)) {
    const isOver = async () => !(await exists(client, name)) && !(await running()).includes(uid)
    while (!(await isOver()) && clock.monotonic() < deadlineMs) {
      const nextMs = Math.min(clock.nextDeadline() ?? deadlineMs, deadlineMs)
      await clock.advance(Math.max(1, nextMs - clock.monotonic()))
    }
    if (!(await isOver())) left.push(name)
  }
  return left
}

const exists = (client: Client, name: string): Promise<boolean> =>
  client.get(pods, { namespace, name }).then(
    () => true,
    () => false,
  )

t.test('any pods', async (t) => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(subject, { minLength: 1, maxLength: 20 }), async (wanted) => {
      const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-any-pod-'))
      const stage = await startStage(rootDir)
      try {
        const left = await overdue(stage, wanted)
        count += [...stage.subjects.keys()].filter(Boolean).length
        if (left.length > 0) throw new Error(`not gone in time: ${left.join(', ')}`)
        const node = await stage.client.get<Node>(nodes, { name: 'n1' })
        if (node.status?.conditions?.find(({ type }) => type === 'Ready')?.status !== 'True')
          throw new Error('not ready')
      } finally {
        await stage.kubelet.close()
        rmSync(rootDir, { recursive: true, force: true })
      }
    }),
    { numRuns, seed },
  )
  t.comment(`${count} pods were accepted, and ended`)
  t.ok(count > 50, `${count} pods were accepted, and ended`)
})

t.test('a pod of a thousand containers', async (t) => {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'kubestage-any-pod-'))
  const stage = await startStage(rootDir)
  const containers = Array.from({ length: 1_000 }, (_, n) => ({ name: `c${n}`, image: 'busybox' }))
  const pod: Pod = {
    metadata: { name: 'p' },
    spec: { nodeName: 'n1', containers, automountServiceAccountToken: false },
  }
  const crowd = { pod, programs: {}, command: {}, deletedAfterMs: 5_000, gracePeriodSeconds: undefined }
  t.same(await overdue(stage, [crowd]), [])
  await stage.kubelet.close()
  rmSync(rootDir, { recursive: true, force: true })
})
