/** Volumes in memory: how large they may be, what they count as, and what is said where they cannot be had. */
import t from 'tap'
import type { EventRecorder } from '../../kubelet/events/event-recorder.ts'
import { diskOf, memoryOf } from '../../kubelet/eviction/pod-usage.ts'
import { memoryVolumeBytes } from '../../kubelet/volumes/memory-volume.ts'
import { VolumeManager } from '../../kubelet/volumes/volume-manager.ts'
import type { VolumeSources } from '../../kubelet/volumes/volume-payload.ts'
import type { Container, Pod } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

const Mi = 1024 ** 2
const node = '64Mi'
const limited = (name: string, memory?: string, more: Partial<Container> = {}): Container => ({
  name,
  ...(memory && { resources: { limits: { memory } } }),
  ...more,
})

t.test('its size: the least of sizeLimit, the pod’s memory limit and the node’s memory', async (t) => {
  const size = (spec: Partial<Pod['spec']>, sizeLimit?: string): number =>
    memoryVolumeBytes(
      { metadata: { name: 'p' }, spec: { containers: [limited('c')], ...spec } },
      { name: 'v', emptyDir: { medium: 'Memory', ...(sizeLimit && { sizeLimit }) } },
      node,
    ) / Mi
  t.equal(size({}), 64)
  t.equal(size({}, '5Mi'), 5)
  t.equal(size({}, '5Gi'), 64)
  t.equal(size({}, '0'), 64, 'zero is no limit')
  t.equal(size({ containers: [limited('a', '8Mi'), limited('b', '2Mi')] }), 10)
  t.equal(size({ containers: [limited('a', '8Mi'), limited('b')] }), 64, 'one container has none: nor has the pod')
  const sidecar = limited('s', '4Mi', { restartPolicy: 'Always' })
  t.equal(size({ containers: [limited('a', '8Mi')], initContainers: [limited('i', '1Mi'), sidecar] }), 12)
  t.equal(size({ containers: [limited('a', '8Mi')], initContainers: [limited('i', '30Mi')] }), 30)
  t.equal(size({ containers: [limited('a', '8Mi')], initContainers: [limited('i')] }), 64)
  t.equal(size({ resources: { limits: { memory: '16Mi' } } }), 16, 'the pod’s own')
  t.equal(size({ containers: [limited('a', '8Mi')] }, '3Mi'), 3)
})

t.test('it counts as memory, not as disk', async (t) => {
  const volumes = new Map([
    ['disk', { bytes: 5, inodes: 1 }],
    ['memory', { bytes: 7, inodes: 2, inMemory: true }],
  ])
  t.equal(memoryOf({ containers: [], volumes }), 7)
  t.same(diskOf({ containers: [], volumes }), { bytes: 5, inodes: 1 })
})

t.test('where nothing can be mounted it is a folder, and an event says so once', async (t) => {
  const told: string[] = []
  const events = {
    podEvent: (_pod: Pod, _container: unknown, type: string, reason: string, message: string) =>
      told.push(`${type} ${reason}: ${message}`),
  } as unknown as EventRecorder
  const clock = createVirtualClock()
  const folder = t.testdir()
  const sources = {} as VolumeSources
  const manager = new VolumeManager({ clock, events, sources, podDir: () => folder, nodeLogs: folder, podFiles: true })
  const volumeMounts = ['v', 'plain'].map((name) => ({ name, mountPath: `/${name}` }))
  const volumes = [
    { name: 'v', emptyDir: { medium: 'Memory' } },
    { name: 'plain', emptyDir: {} },
  ]
  const pod: Pod = { metadata: { name: 'p', uid: 'u' }, spec: { containers: [{ name: 'c', volumeMounts }], volumes } }
  const { signal } = new AbortController()
  await manager.mount(pod, signal)
  await clock.advance(120_000)
  await manager.mount(pod, signal)
  t.same(told, [
    'Warning NotInMemory: Volume "v" of medium Memory is a folder on disk, without a size: this node can mount nothing',
  ])
})
