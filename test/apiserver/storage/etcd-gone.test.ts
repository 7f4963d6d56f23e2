import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { EtcdClient } from '../../../apiserver/storage/etcd/client.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'

t.test('calls that wait for an etcd that is gone share one attempt to connect, with ever longer pauses', async (t) => {
  let attempts = 0
  const server = createServer((socket) => {
    attempts++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new EtcdClient({ endpoints: [url], clock: realClock })
  t.teardown(() => client.close())
  const watch = client.openWatch({ onResponse: () => {}, onEnd: () => {} }).catch((error: Error) => error)
  const calls: Promise<unknown>[] = []
  const begun = realClock.monotonic()
  while (calls.length < 100) {
    calls.push(client.call('range', { key: 'a' }, { isRepeatable: true, timeoutMs: 3_000 }))
    await realClock.sleep(5)
  }
  for (const { status } of await Promise.allSettled(calls)) t.equal(status, 'rejected')
  const seconds = (realClock.monotonic() - begun) / 1000
  // 0, 0.1, 0.2, 0.4, 0.8 and then 1 s after another.
  t.ok(attempts <= 6 + seconds, `${attempts} attempts within ${seconds} s`)
  t.ok(attempts >= 4, 'it goes on trying')
  client.close()
  t.ok((await watch) instanceof Error, 'a client that is closed no longer waits')
})
