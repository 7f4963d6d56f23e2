import type { Test } from 'tap'
import { run } from './run.ts'

/** Names two ends of a cable: `near` is this machine's address, `far` that of a namespace with this name. */
export interface Cable {
  name: string
  net: string
  near: string
  far: string
}

/** Lays a cable to a network namespace, which stands for another machine. Undefined where that needs root, or `ip`. */
export async function layCable(t: Test): Promise<Cable | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const name = `ks${process.pid}`
  // Of test networks (RFC 2544); another one in each test process.
  const net = `198.18.${process.pid % 256}`
  const cable = { name, net, near: `${net}.1`, far: `${net}.2` }
  const lines = [
    `ip netns add ${name}`,
    `ip link add ${name}a type veth peer name ${name}b`,
    `ip link set ${name}b netns ${name}`,
    `ip addr add ${cable.near}/30 dev ${name}a`,
    `ip link set ${name}a up`,
    `ip netns exec ${name} ip addr add ${cable.far}/30 dev ${name}b`,
    `ip netns exec ${name} ip link set ${name}b up`,
    `ip netns exec ${name} ip link set lo up`,
  ]
  t.teardown(() => run('sh', ['-c', `ip link del ${name}a; ip netns del ${name}`]))
  return (await run('sh', ['-ec', lines.join('\n')]))?.code === 0 ? cable : undefined
}
