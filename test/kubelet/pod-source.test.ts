import t from 'tap'
import { startPodSource } from '../../kubelet/pods/pod-source.ts'
import type { Pod, WatchEvent } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'

const pod = (name: string, image: string): Pod => ({
  metadata: { name, namespace: 'ns', uid: name, resourceVersion: '1', managedFields: [{ manager: 'm' }] },
  spec: { nodeName: 'n1', containers: [{ name: 'c', image, env: [{ name: 'A', value: 'a' }] }] },
})

t.test('pods of one template share their spec, and managedFields are dropped', async (t) => {
  const listed = [pod('a', 'x'), pod('b', 'x'), pod('c', 'y')]
  const client = {
    list: async () => ({ metadata: { resourceVersion: '1' }, items: listed }),
    async *watch(): AsyncGenerator<WatchEvent<Pod>> {
      await new Promise(() => {})
    },
  }
  const seen = new Map<string, Pod>()
  const source = startPodSource({
    client: client as unknown as Client,
    clock: createVirtualClock(),
    nodeName: 'n1',
    onError: (error) => t.error(error),
    handler: {
      onAdd: (added) => void seen.set(added.metadata.name ?? '', added),
      onUpdate() {},
      onReconcile() {},
      onRemove() {},
    },
  })
  t.teardown(() => void source.close())
  await source.synced()
  const [a, b, c] = ['a', 'b', 'c'].map((name) => seen.get(name))
  t.equal(a?.spec, b?.spec)
  t.match(c?.spec, { containers: [{ image: 'y' }] })
  t.not(a?.metadata.uid, b?.metadata.uid)
  t.equal(a?.metadata.managedFields, undefined)
})
