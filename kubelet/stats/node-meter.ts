import type { Clock } from '../../shared/clock/clock.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import { machineSignals } from '../eviction/machine-signals.ts'
import type { Observation } from '../eviction/signals.ts'
import type { ContainerRecord, ContainerRuntime, ContainerUsage, Sandbox } from '../runtime/container-runtime.ts'
import { machineCpuSeconds } from '../runtime/machine-cpu.ts'
import { CpuMeter } from './cpu-meter.ts'
import type { ContainerStats, FsStats, MemoryStats, NodeStats, PodStats, Summary } from './summary.ts'

export interface NodeMeterOptions {
  runtime: ContainerRuntime
  clock: Clock
  nodeName: string
  rootDir: string
}

interface Measured {
  record: ContainerRecord
  usage: ContainerUsage
}

/**
 * Measures the machine and the running containers when it is asked to; in between it only remembers processor times.
 */
export class NodeMeter {
  readonly #options: NodeMeterOptions
  readonly #cpu: CpuMeter
  readonly #startedMs: number

  constructor(options: NodeMeterOptions) {
    this.#options = options
    this.#cpu = new CpuMeter(options.clock.machine)
    this.#startedMs = options.clock.machine.now()
  }

  async summary(): Promise<Summary> {
    const { runtime } = this.#options
    const [{ sandboxes, containers }, usages, node] = await Promise.all([runtime.list(), runtime.usage(), this.#node()])
    const usageOf = new Map(usages.map((usage) => [usage.containerId, usage]))
    const measured = containers.flatMap((record): Measured[] => {
      const usage = record.state === 'running' ? usageOf.get(record.id) : undefined
      return usage ? [{ record, usage }] : []
    })
    this.#cpu.keep(new Set(['', ...measured.map(({ record }) => record.id)]))
    const pods = sandboxes.map((sandbox) =>
      this.#pod(
        sandbox,
        measured.filter(({ record }) => record.sandboxId === sandbox.id),
      ),
    )
    return { node, pods: pods.filter((pod) => pod.containers.length > 0) }
  }

  async #node(): Promise<NodeStats> {
    const { nodeName, rootDir } = this.#options
    const [signals, cpuSeconds] = await Promise.all([machineSignals(rootDir), machineCpuSeconds()])
    const time = this.#now()
    const { 'memory.available': memory, 'nodefs.available': disk, 'nodefs.inodesFree': inodes } = signals
    const pids = signals['pid.available']
    return {
      nodeName,
      startTime: toTime(this.#startedMs),
      ...(cpuSeconds !== undefined && { cpu: this.#cpu.of('', cpuSeconds) }),
      ...(memory && { memory: { ...memoryStats(time, used(memory)), availableBytes: memory.available } }),
      ...(disk && { fs: fsStats(time, disk, inodes) }),
      ...(pids && { rlimit: { time, maxpid: pids.capacity, curproc: used(pids) } }),
    }
  }

  #pod({ podUid, namespace, name, createdAtMs }: Sandbox, measured: readonly Measured[]): PodStats {
    const containers = measured.map((one) => this.#container(one))
    const sum = (of: (container: ContainerStats) => number | undefined): number =>
      containers.reduce((total, container) => total + (of(container) ?? 0), 0)
    const time = this.#now()
    const rates = containers.map(({ cpu }) => cpu.usageNanoCores)
    return {
      podRef: { name, namespace, uid: podUid },
      startTime: this.#machineTime(createdAtMs),
      containers,
      cpu: {
        time,
        ...(!rates.includes(undefined) && { usageNanoCores: sum(({ cpu }) => cpu.usageNanoCores) }),
        usageCoreNanoSeconds: sum(({ cpu }) => cpu.usageCoreNanoSeconds),
      },
      memory: memoryStats(
        time,
        sum(({ memory }) => memory.workingSetBytes),
      ),
      'ephemeral-storage': {
        time,
        usedBytes: sum(({ rootfs }) => rootfs.usedBytes),
        inodesUsed: sum(({ rootfs }) => rootfs.inodesUsed),
      },
      process_stats: { process_count: measured.reduce((total, { usage }) => total + usage.processes, 0) },
    }
  }

  #container({ record, usage }: Measured): ContainerStats {
    const time = this.#now()
    return {
      name: record.name,
      startTime: this.#machineTime(record.startedAtMs),
      cpu: this.#cpu.of(record.id, usage.cpuSeconds),
      memory: { ...memoryStats(time, usage.memoryBytes), ...usage.memory },
      rootfs: { time, usedBytes: usage.diskBytes, inodesUsed: usage.inodes },
    }
  }

  #now = (): string => toTime(this.#options.clock.machine.now())

  /** Rates are of the machine's time, whatever the cluster's pace. */
  #machineTime(clusterMs: number): string {
    const { clock } = this.#options
    return toTime(clock.machine.now() - (clock.now() - clusterMs) / clock.scale)
  }
}

const used = ({ available, capacity }: Observation): number => Math.max(0, capacity - available)

/** All of it is the processes' own: nothing of it can be given back. */
const memoryStats = (time: string, bytes: number): MemoryStats => ({
  time,
  usageBytes: bytes,
  workingSetBytes: bytes,
  rssBytes: bytes,
})

const fsStats = (time: string, disk: Observation, inodes: Observation | undefined): FsStats => ({
  time,
  availableBytes: disk.available,
  capacityBytes: disk.capacity,
  usedBytes: used(disk),
  ...(inodes && { inodesFree: inodes.available, inodes: inodes.capacity, inodesUsed: used(inodes) }),
})
