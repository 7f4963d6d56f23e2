/** Eight times the subsets cost about eight times the CPU time, not 64 times. */
import t from 'tap'
import { planMirror } from '../../controllers/endpoints/mirrored-slices.ts'
import type { EndpointSlice, Endpoints } from '../../shared/api/workloads/workloads.ts'

const few = 500
const many = 8 * few
const mostGrowth = 32
const leastMs = 40

const endpoints = (size: number): Endpoints => ({
  metadata: { name: 'large', namespace: 'default', uid: 'u' },
  subsets: Array.from({ length: size }, (_, i) => ({
    addresses: [{ ip: `10.0.${i >> 8}.${i & 255}` }],
    ports: [{ name: `p${i}`, port: i + 1, protocol: 'TCP' }],
  })),
})

function costMs(size: number): number {
  const existing = planMirror(endpoints(size), []).create.map(
    (slice, index): EndpointSlice => ({ ...slice, metadata: { ...slice.metadata, name: `s${index}` } }),
  )
  const reversed = existing.toReversed()
  const before = process.cpuUsage()
  const plan = planMirror(endpoints(size), reversed)
  const { user, system } = process.cpuUsage(before)
  t.same([plan.create.length, plan.update.length, plan.remove.length], [0, 0, 0], 'all of them are there')
  return (user + system) / 1000
}

t.test('endpoints with many subsets that are mirrored already', async (t) => {
  const large = Math.min(costMs(many), costMs(many), costMs(many))
  const small = Math.min(costMs(few), costMs(few), costMs(few))
  t.ok(large < leastMs || large / small < mostGrowth, `${small} ms for ${few}, ${large} ms for ${many}`)
})
