/** What a node's tunnel needs of other nodes, and what is told where there can be none. */
import t from 'tap'
import { peerOf, serveTunnel } from '../../kubelet/node/pod-tunnel.ts'
import type { Node } from '../../shared/api/types.ts'
import { createVirtualClock } from '../../shared/clock/virtual-clock.ts'
import { startCommand } from '../harness/cluster.ts'

const node = (podCIDR: string, address: string, Port?: number): Node => ({
  metadata: { name: 'other' },
  spec: { podCIDR },
  status: {
    addresses: [
      { type: 'Hostname', address: 'other' },
      { type: 'InternalIP', address },
    ],
    ...(Port && { daemonEndpoints: { kubeletEndpoint: { Port } } }),
  },
})

t.test('a Node object names the other end', async (t) => {
  const { range, at } = peerOf(node('10.244.1.0/24', '192.0.2.11', 10250)) ?? {}
  t.same([range?.cidr, at], ['10.244.1.0/24', { host: '192.0.2.11', port: 10250 }])
  t.equal(peerOf(node('10.244.1.0/24', '192.0.2.11')), undefined, 'its kubelet has no port yet')
  t.equal(peerOf(node('', '192.0.2.11', 10250)), undefined, 'it has no range yet')
  t.equal(peerOf(node('2001:db8::/64', '192.0.2.11', 10250)), undefined)
  t.equal(peerOf(node('10.244.1.0/24', '192.0.2.11; drop', 10250)), undefined)
})

t.test('why there is none is told once', async (t) => {
  const told: unknown[] = []
  const refuses = async (): Promise<void> => void t.fail('nothing is asked for')
  const served = serveTunnel({
    network: { place: undefined, useTunnel: refuses, useRules: refuses, onOpened: () => {} },
    client: undefined as never,
    clock: createVirtualClock(),
    nodeName: 'node-1',
    events: { event: ({ name }, type, reason, message) => told.push([name, type, reason, message]) },
    at: { host: '192.0.2.10', port: 10250 },
    why: 'that needs root',
    warn: (_, what) => told.push(what),
  })
  served.close()
  const message = 'Pods of nodes on other machines are not reached: that needs root'
  t.same(told, [message, ['node-1', 'Warning', 'PodTunnelFailed', message]])
})

t.test('it leads to pods that have networks', async (t) => {
  const run = startCommand(t, ['up', '--port=0', `--state-dir=${t.testdir()}`, '--pod-tunnel=vxlan'])
  t.equal(await run.ended, 2)
  t.match(run.output(), '--pod-tunnel leads to pods that have networks of their own: add --network pod')
})
