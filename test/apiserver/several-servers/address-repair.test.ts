import t from 'tap'
import type { IpAddress } from '../../../apiserver/several-servers/allocation/ip-claims.ts'
import { PortBitmap } from '../../../apiserver/several-servers/allocation/port-bitmap.ts'
import { decideRepair } from '../../../apiserver/several-servers/allocation/repair.ts'
import type { Service } from '../../../shared/api/types.ts'

const range = { first: 30_000, last: 32_767 }
const managed = { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' }
const address = (name: string, labels: Record<string, string> = managed): IpAddress => ({
  metadata: { name, labels },
  spec: { parentRef: { resource: 'services', namespace: 'default', name: 'gone' } },
})
const service: Service = {
  metadata: { name: 'web' },
  spec: { clusterIPs: ['10.96.0.2'], ports: [{ port: 80, nodePort: 30_001 }], healthCheckNodePort: 30_002 },
}

/** With addresses and ports that have been taken for so many milliseconds. */
function repair(addresses: IpAddress[], ports: number[], ageMs: number) {
  const taken = new PortBitmap(range)
  for (const port of ports) taken.set(port, true)
  const claims = {
    ips: { all: () => addresses, ageMs: () => ageMs },
    ports: { taken: () => taken, takenMs: () => ageMs },
  }
  const { missingIps, leakedIps, ...rest } = decideRepair([service], claims)
  return {
    missingIps: missingIps.map(({ ip }) => ip),
    leakedIps: leakedIps.map(({ metadata }) => metadata.name),
    ...rest,
  }
}

t.test('what Services have is taken; what none has is free after the time of a write', async (t) => {
  t.same(repair([], [], 0), {
    missingIps: ['10.96.0.2'],
    missingPorts: [30_001, 30_002],
    leakedIps: [],
    leakedPorts: [],
  })
  const nothing = { missingIps: [], missingPorts: [], leakedIps: [], leakedPorts: [] }
  const addresses = [address('10.96.0.2'), address('10.96.0.3'), address('10.96.0.4', {})]
  const ports = [30_001, 30_002, 30_003]
  t.same(repair(addresses, ports, 60_000), nothing, 'a write may still be under way')
  t.same(repair(addresses, ports, 60_001), { ...nothing, leakedIps: ['10.96.0.3'], leakedPorts: [30_003] })
})

t.test("the bitmap of ports is a real server's: the first port is the lowest bit of the last byte", async (t) => {
  const bitmap = new PortBitmap(range, Buffer.from([0b1000_0001, 0b10]).toString('base64'))
  t.same([...bitmap], [30_001, 30_008, 30_015])
  bitmap.set(32_767, true)
  bitmap.set(30_008, false)
  bitmap.set(40_000, true)
  t.same([...new PortBitmap(range, bitmap.toString())], [30_001, 30_015, 32_767])
})
