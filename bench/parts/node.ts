import { join } from 'node:path'
import { nodeFlags, withKubestage } from '../cluster.ts'
import { prepare } from '../measure.ts'
import { rounds } from '../options.ts'
import { dnsCost, hookTimes, probeCost, withoutNft } from '../processes.ts'
import type { Row } from '../report.ts'
import { measureServiceRequests } from '../service-requests.ts'

export async function measureHooks(): Promise<Row[]> {
  const { execMs, isolatedExecMs, spawnMs, httpMs, requestMs } = await hookTimes()
  const goal = { unit: 'ms', goal: 2, smallerIsBetter: true }
  return [
    { what: 'exec hook, p50; bare spawn', ...goal, ours: execMs, ceiling: spawnMs },
    ...(isolatedExecMs ? [{ what: 'the same in namespaces', ...goal, ours: isolatedExecMs, ceiling: spawnMs }] : []),
    { what: 'HTTP hook, p50; bare request', ...goal, ours: httpMs, ceiling: requestMs },
  ]
}

export async function measureProbes(): Promise<Row[]> {
  const { percent } = await probeCost()
  return [
    { what: '5,000 probes, beside what they do', unit: '% of a core', ours: percent, limit: 1, smallerIsBetter: true },
  ]
}

/** Requests to a Service, by rules and without them. Root alone hides a file of the machine from a cluster. */
export async function measureServices(): Promise<Row[]> {
  if (process.getuid?.() !== 0) return []
  const rules = await serviceRequests()
  const user = await serviceRequests(withoutNft())
  const same = { unit: 'ms', smallerIsBetter: true }
  return [
    {
      what: 'request by a cluster IP, p50; to the pod',
      ...same,
      ours: rules.serviceMs,
      ceiling: rules.directMs,
      goal: 1.2,
    },
    { what: 'the same without nft', ...same, ours: user.serviceMs, ceiling: user.directMs, goal: 2 },
  ]
}

const serviceRequests = (program?: readonly string[]) =>
  withKubestage(
    [...nodeFlags('pod'), '--network=pod'],
    async (server, stateDir) => {
      await prepare(server.target)
      return measureServiceRequests(join(stateDir, 'kubeconfig'), rounds)
    },
    program,
  )

export async function measureDns(): Promise<Row[]> {
  const { perSecond, cpuMicroseconds } = await dnsCost()
  return [
    { what: 'answers of DNS; client and server', unit: '/s', ours: perSecond, limit: 10_000 },
    { what: 'CPU time of the kubelet for one', unit: 'µs', ours: cpuMicroseconds, limit: 100, smallerIsBetter: true },
  ]
}
