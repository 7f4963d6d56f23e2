/** A pod that floods the tracking of connections: its connections beyond a rate are dropped, and it is reported. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import type { NetworkedPod } from '../../../kubelet/runtime/network/node-network.ts'
import { connectionRate, limitConnections } from '../../../kubelet/services/connection-limit.ts'
import { createVirtualClock } from '../../../shared/clock/virtual-clock.ts'
import { skipOrFail } from '../../harness/skip.ts'
import { until } from '../../harness/until.ts'

t.same(connectionRate(262_144), { perSecond: 4_369, burst: 16_384 })
t.same(connectionRate(0), { perSecond: 1, burst: 1 })

t.test('a flood', async (t) => {
  const isRoot = process.getuid?.() === 0
  if (!isRoot || spawnSync('nft', ['--version']).status !== 0) return skipOrFail(t, 'needs root, and nft of nftables')
  const reached: [string, string][] = []
  let rules = ''
  const clock = createVirtualClock()
  // The pod is the loopback of a network of its own; its table has room for 16,000.
  const flood = (): string => {
    const send = `use Socket; socket(my $from, AF_INET, SOCK_DGRAM, 0);
      send($from, 'x', 0, sockaddr_in($_, inet_aton('127.0.0.9'))) for 1 .. 30000`
    const script = `ip link set lo up; nft -f - && perl -e "$0" && nft list sets >&2 && nft -j list sets`
    const { stdout, stderr } = spawnSync('unshare', ['-n', 'sh', '-c', script, send], {
      encoding: 'utf8',
      input: rules.replace('iifname pods', 'iifname lo'),
    })
    t.match(stderr, /127\.0\.0\.1 limit rate over 266\/second burst 1000 packets/)
    return stdout
  }
  const pod: NetworkedPod = { namespace: 'one', name: 'flood', podUid: 'u', ip: '127.0.0.1' }
  const limit = limitConnections({
    network: {
      useRules: async (_name, text) => {
        rules = text
      },
      listSets: async () => flood(),
      pods: new Map([[pod.ip, pod]]),
    },
    clock,
    onReached: ({ name }, message) => reached.push([name, message]),
    warn: (error) => t.fail(String(error)),
    table: 16_000,
  })
  t.teardown(() => limit.close())
  await clock.advance(0)
  await clock.advance(20_000)
  await until(() => reached.length > 0, { what: 'the pod to be reported' })
  t.same(reached, [['flood', 'it opens more than 266 connections a second; the node drops others of this pod']])
})
