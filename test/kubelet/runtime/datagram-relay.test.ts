import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { relayDatagrams } from '../../../kubelet/runtime/network/datagram-relay.ts'
import type { NodeNetwork } from '../../../kubelet/runtime/network/node-network.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'

t.test('an exchange ends if no way leads to its place', async (t) => {
  const outer = createSocket('udp4').bind(0, '127.0.0.1')
  await once(outer, 'listening')
  const inner = createSocket('udp4')
  const closed = Promise.withResolvers<void>()
  const bind = async (_: unknown, onSocket: (socket: Socket) => void) => {
    onSocket(inner)
    return { close: () => void inner.close(closed.resolve) }
  }
  const network = { bind, place: { node: '127.0.0.1', machine: '', range: '' } } as Pick<NodeNetwork, 'bind' | 'place'>
  // The kernel refuses to connect a socket to this address.
  const relay = relayDatagrams({ network, clock: realClock }, outer, () => ({ host: '255.255.255.255', port: 53 }))
  const client = createSocket('udp4')
  client.send('question', outer.address().port, '127.0.0.1')
  await closed.promise
  t.pass('its socket is closed, and the process lives')
  client.close()
  relay.close()
  outer.close()
})
