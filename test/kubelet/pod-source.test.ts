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
  const again = (generation: number, resourceVersion: string, image: string): WatchEvent<Pod> => {
    const { metadata, ...rest } = pod('d', image)
    return { type: 'MODIFIED', object: { ...rest, metadata: { ...metadata, generation, resourceVersion } } }
  }
  const client = {
    list: async () => ({ metadata: { resourceVersion: '1' }, items: listed }),
    async *watch(): AsyncGenerator<WatchEvent<Pod>> {
      for (const event of [again(1, '2', 'z'), again(1, '3', 'z'), again(2, '4', 'x')]) yield event
      await new Promise(() => {})
    },
  }
  const seen = new Map<string, Pod>()
  const reconciled: Pod[] = []
  const update = Promise.withResolvers<Pod>()
  const source = startPodSource({
    client: client as unknown as Client,
    clock: createVirtualClock(),
    nodeName: 'n1',
    onError: (error) => t.error(error),
    handler: {
      onAdd: (added) => void seen.set(added.metadata.name ?? '', added),
      onUpdate: update.resolve,
      onReconcile: (changed) => void reconciled.push(changed),
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
  await update.promise
  t.equal(reconciled[0]?.spec, seen.get('d')?.spec, 'the spec of a generation is kept')
  t.equal((await update.promise).spec, a?.spec)
})
