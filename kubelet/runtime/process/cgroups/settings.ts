import type { ResourceLimits } from '../../container-runtime.ts'
import type { Controller } from './hierarchies.ts'

/** A file of a control group and what is written to it. */
export interface Setting {
  controller: Controller
  file: string
  value: string
}

const periodUs = 100_000

/** Returns the settings that make a group keep the limits. */
export function settingsOf(version: 1 | 2, limits: ResourceLimits): Setting[] {
  return version === 1 ? firstVersion(limits) : secondVersion(limits)
}

/** Returns those of a new group: it has no bounds, so only others are set. */
export const firstSettingsOf = (version: 1 | 2, limits: ResourceLimits): Setting[] =>
  settingsOf(version, limits).filter(({ value }) => !unbounded.includes(value))

const unbounded = ['-1', 'max', `max ${periodUs}`, String(periodUs)]

const firstVersion = ({ cpuShares, cpuQuotaUs, memoryBytes, pids }: ResourceLimits): Setting[] => [
  { controller: 'cpu', file: 'cpu.shares', value: String(cpuShares) },
  { controller: 'cpu', file: 'cpu.cfs_period_us', value: String(periodUs) },
  { controller: 'cpu', file: 'cpu.cfs_quota_us', value: String(cpuQuotaUs ?? -1) },
  { controller: 'memory', file: 'memory.limit_in_bytes', value: String(memoryBytes ?? -1) },
  { controller: 'pids', file: 'pids.max', value: String(pids ?? 'max') },
]

const secondVersion = ({ cpuShares, cpuQuotaUs, memoryBytes, pids }: ResourceLimits): Setting[] => [
  { controller: 'cpu', file: 'cpu.weight', value: String(cpuWeight(cpuShares)) },
  { controller: 'cpu', file: 'cpu.max', value: `${cpuQuotaUs ?? 'max'} ${periodUs}` },
  { controller: 'memory', file: 'memory.max', value: String(memoryBytes ?? 'max') },
  { controller: 'pids', file: 'pids.max', value: String(pids ?? 'max') },
]

/** Makes all of a container end when its memory runs out. */
export const endsAsOne: Setting = { controller: 'memory', file: 'memory.oom.group', value: '1' }

/** Upstream: opencontainers/cgroups, ConvertCPUSharesToCgroupV2Value: 1024 shares are the default weight 100. */
export function cpuWeight(shares: number): number {
  if (shares <= 2) return 1
  if (shares >= 262_144) return 10_000
  const exponent = Math.log2(shares)
  return Math.ceil(10 ** ((exponent * exponent + 125 * exponent) / 612 - 7 / 34))
}
