import t from 'tap'
import { createSyncTerminatingPod } from '../../kubelet/ending/sync-terminating-pod.ts'
import { PodWorkers } from '../../kubelet/pods/pod-workers.ts'
import { emptyRuntimePod } from '../../kubelet/runtime/runtime-pod.ts'
import type { Pod } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { defaultFeatureGates } from '../../shared/config/feature-gates.ts'

const pod = (metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { namespace: 'ns', name: 'web', uid: 'u', ...metadata },
  spec: { containers: [], terminationGracePeriodSeconds: 30 },
})

t.test('a kill reports the current state of the pod', async (t) => {
  const clock = createVirtualClock()
  const ended: Pod[] = []
  const workers = new PodWorkers({
    clock,
    syncPod: async () => ({ ended: false }),
    syncTerminatingPod: async (pod) => void ended.push(pod),
    syncTerminatedPod: async () => {},
    onFinished: () => {},
    onError: t.error,
  })
  const chosen = pod({ labels: { version: '1' } })
  workers.update(chosen)
  await clock.advance(1)
  workers.observe(pod({ labels: { version: '2' } }))
  const killed = workers.kill(chosen, { graceSeconds: 1 })
  await clock.advance(1)
  await killed
  t.match(ended, [{ metadata: { labels: { version: '2' } } }])
  t.ok(workers.isFinished('u'))
  workers.close()
})

t.test('a step that fails is tried again, and the kill waits for it', async (t) => {
  const clock = createVirtualClock()
  const errors: unknown[] = []
  const workers = new PodWorkers({
    clock,
    random: () => 0,
    syncPod: async () => ({ ended: false }),
    async syncTerminatingPod() {
      if (errors.length === 0) throw new Error('the runtime is away')
    },
    syncTerminatedPod: async () => {},
    onFinished: () => {},
    onError: (error) => errors.push(error),
  })
  let isDone = false
  const killed = workers.kill(pod(), {}).then(() => {
    isDone = true
  })
  await clock.advance(9_999)
  t.match([errors.length, isDone], [1, false])
  await clock.advance(1)
  await killed
  t.ok(workers.isFinished('u'))
  workers.close()
})

t.test('a grace period that is shortened before the containers are killed holds for the kill', async (t) => {
  const clock = createVirtualClock()
  const given: (number | undefined)[] = []
  const listed = Promise.withResolvers<typeof emptyRuntimePod>()
  const syncTerminatingPod = createSyncTerminatingPod({
    cache: { pod: () => listed.promise, pods: async () => new Map() },
    statuses: {
      write: () => ({}),
      sandboxReady() {},
      allRemoved() {},
      probesChanged() {},
      deadlineMs: () => undefined,
    },
    killPod: async (_pod, _runtimePod, options) =>
      void given.push(options.ends === 'pod' ? options.graceSeconds : undefined),
    tellReason() {},
    endsIdle() {},
    featureGates: defaultFeatureGates,
    stopKillingProbes() {},
    removeProbes() {},
  })
  const workers = new PodWorkers({
    clock,
    syncPod: async () => ({ ended: false }),
    syncTerminatingPod,
    syncTerminatedPod: async () => {},
    onFinished: () => {},
    onError: t.error,
  })
  const dying = (deletionGracePeriodSeconds: number) => pod({ deletionTimestamp: 'x', deletionGracePeriodSeconds })
  workers.update(dying(6))
  await clock.advance(1)
  workers.update(dying(1))
  listed.resolve(emptyRuntimePod)
  await clock.advance(1)
  t.same(given, [1])
  workers.close()
})
