import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { textOf } from '../../../../shared/files/readable.ts'
import type { LimitedResource, PodLimits, ResourceLimits, Sandbox } from '../../container-runtime.ts'
import type { Controller } from './hierarchies.ts'
import { endsAsOne, firstSettingsOf, type Setting, settingsOf } from './settings.ts'

/** Names a container's group: the sandbox, and the container's ID. */
export interface GroupOwner {
  sandbox: Pick<Sandbox, 'podUid' | 'limits'>
  id: string
}

/** Holds what the kernel counted of a group. */
export interface GroupUsage {
  cpuSeconds: number
  usageBytes: number
  /** Leaves out the files that can be given back at once. */
  workingSetBytes: number
  rssBytes: number
  processes: number
}

export interface CgroupsOptions {
  version: 1 | 2
  /** The folder of this node by controller; version 2 has one for all. */
  folders: ReadonlyMap<Controller, string>
}

/** Classes that have a folder of their own, in which their pods are; others are beside these. Upstream: the same. */
const classes: Readonly<Record<string, string>> = { Burstable: 'burstable', BestEffort: 'besteffort' }

/**
 * The control groups of a node: one for each pod that has limits, by its class of service, and in it one for each
 * container. All is files of the kernel, so nothing is kept here: the next kubelet finds what there is.
 */
export class Cgroups {
  readonly version: 1 | 2
  readonly limited: readonly LimitedResource[]
  readonly #folders: ReadonlyMap<Controller, string>
  /** Groups that could not be removed, because processes in them were about to end. */
  readonly #left = new Set<string>()

  constructor({ version, folders }: CgroupsOptions) {
    this.version = version
    this.#folders = folders
    this.limited = (['cpu', 'memory', 'pids'] as const).filter((name) => folders.has(name))
  }

  /** Makes the folders of the node; the shim removes all of them when it ends. Idempotent. */
  prepare(): void {
    for (const root of this.roots()) {
      for (const folder of [root, ...Object.values(classes).map((name) => path.join(root, name))]) {
        mkdirSync(folder, { recursive: true })
        this.#enable(folder)
      }
    }
    // As little as the kernel gives: pods that ask for nothing get what others leave.
    this.#write(classes.BestEffort as string, [{ controller: 'cpu', ...leastShare[this.version] }])
  }

  /** Returns the node's folders, each once. */
  roots(): string[] {
    return [...new Set(this.#folders.values())]
  }

  addPod({ podUid, limits }: GroupOwner['sandbox']): void {
    if (!limits) return
    const group = podGroup({ podUid, limits })
    let isNew = false
    for (const root of this.roots()) {
      isNew = mkdirSync(path.join(root, group), { recursive: true }) !== undefined
      this.#enable(path.join(root, group))
    }
    this.#write(group, isNew ? firstSettingsOf(this.version, limits) : settingsOf(this.version, limits))
  }

  /** Returns the files by which a process enters the group; none where the pod has no limits. */
  addContainer(owner: GroupOwner, limits: ResourceLimits): string[] {
    const group = containerGroup(owner)
    if (!group) return []
    for (const root of this.roots()) mkdirSync(path.join(root, group), { recursive: true })
    const ofVersion = this.version === 2 ? [endsAsOne] : []
    this.#write(group, [...firstSettingsOf(this.version, limits), ...ofVersion])
    return this.entrances(owner)
  }

  entrances(owner: GroupOwner): string[] {
    return this.folders(owner).map(([, folder]) => path.join(folder, 'cgroup.procs'))
  }

  /** Returns the container's folders by controller: one for all in version 2; none where it has no group. */
  folders(owner: GroupOwner): [Controller, string][] {
    const group = containerGroup(owner)
    if (!group) return []
    const all = [...this.#folders].map(([name, root]): [Controller, string] => [name, path.join(root, group)])
    return (this.version === 2 ? all.slice(0, 1) : all).filter(([, folder]) => existsSync(folder))
  }

  /** Throws where the kernel refuses, for example less memory than is in use. */
  resize(sandbox: GroupOwner['sandbox'], limits: PodLimits, containers: ReadonlyMap<string, ResourceLimits>): void {
    for (const [id, ofContainer] of containers) {
      const inUse = this.usage({ sandbox, id })?.workingSetBytes ?? 0
      const { memoryBytes = Number.POSITIVE_INFINITY } = ofContainer
      // Upstream's words. Version 2 would end the container instead.
      if (inUse > memoryBytes)
        throw new Error(`attempting to set memory limit (${memoryBytes}) below current usage (${inUse})`)
    }
    for (const [id, ofContainer] of containers) {
      const group = containerGroup({ sandbox, id })
      if (group) this.#write(group, settingsOf(this.version, ofContainer))
    }
    if (sandbox.limits) this.#write(podGroup(sandbox), settingsOf(this.version, limits))
  }

  /** True if the kernel has ended a process of the container because its memory was used up. */
  ranOutOfMemory(owner: GroupOwner): boolean {
    const file = this.version === 1 ? 'memory.oom_control' : 'memory.events'
    return (numbersOf(this.#read(owner, 'memory', file)).get('oom_kill') ?? 0) > 0
  }

  /** Counts how often the pod could not have another process. Version 1 counts it where the process would have been. */
  refusedProcesses({ podUid, limits }: GroupOwner['sandbox']): number {
    const root = this.#folders.get('pids')
    if (!root || !limits) return 0
    const pod = path.join(root, podGroup({ podUid, limits }))
    const groups = [pod, ...foldersIn(pod).map((id) => path.join(pod, id))]
    return groups.reduce((sum, group) => sum + (numbersOf(textOf(path.join(group, 'pids.events'))).get('max') ?? 0), 0)
  }

  /** Returns what a container uses; undefined where it has no group. */
  usage(owner: GroupOwner): GroupUsage | undefined {
    const isFirst = this.version === 1
    const used = this.#read(owner, 'memory', isFirst ? 'memory.usage_in_bytes' : 'memory.current')
    if (used === '') return undefined
    const usageBytes = Number(used)
    const memory = numbersOf(this.#read(owner, 'memory', 'memory.stat'))
    const inactive = memory.get(isFirst ? 'total_inactive_file' : 'inactive_file') ?? 0
    return {
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - inactive),
      rssBytes: memory.get(isFirst ? 'total_rss' : 'anon') ?? 0,
      cpuSeconds: isFirst
        ? Number(this.#read(owner, 'cpuacct', 'cpuacct.usage')) / 1e9
        : (numbersOf(this.#read(owner, 'cpu', 'cpu.stat')).get('usage_usec') ?? 0) / 1e6,
      processes: linesOf(this.#read(owner, 'memory', 'cgroup.procs')).length,
    }
  }

  /** Removes the group, or does so later where a process still ends in it. */
  removeContainer(owner: GroupOwner): void {
    const group = containerGroup(owner)
    if (group) this.#remove(group)
  }

  removePod({ podUid, limits }: GroupOwner['sandbox']): void {
    if (limits) this.#remove(podGroup({ podUid, limits }))
  }

  /** Removes the folders of the node, unless groups of pods are in them. */
  remove(): void {
    for (const root of this.roots())
      for (const folder of [...Object.values(classes).map((name) => path.join(root, name)), root]) isRemoved(folder)
  }

  /** Removes what an earlier kubelet left of pods and containers that are gone. */
  keep(owners: readonly GroupOwner[]): void {
    const kept = new Set(owners.flatMap(({ sandbox }) => (sandbox.limits ? [podGroup(sandbox as Limited)] : [])))
    const keptContainers = new Set(owners.map((owner) => containerGroup(owner)))
    for (const root of this.roots()) {
      for (const group of ['', ...Object.values(classes)].flatMap((name) => podGroupsIn(root, name))) {
        const within = foldersIn(path.join(root, group)).map((id) => path.join(group, id))
        for (const one of within) if (!keptContainers.has(one)) this.#remove(one)
        if (!kept.has(group)) this.#remove(group)
      }
    }
  }

  #remove(group: string): void {
    for (const folder of [...this.#left, ...this.roots().map((root) => path.join(root, group))])
      if (isRemoved(folder)) this.#left.delete(folder)
      else this.#left.add(folder)
  }

  /** Groups within a group of version 2 are kept within what is enabled there. */
  #enable(folder: string): void {
    if (this.version === 2) enable(folder, this.limited)
  }

  #write(group: string, settings: readonly Setting[]): void {
    for (const { controller, file, value } of settings) {
      const root = this.#folders.get(controller)
      if (root) writeFileSync(path.join(root, group, file), value)
    }
  }

  #read({ sandbox, id }: GroupOwner, controller: Controller, file: string): string {
    const group = containerGroup({ sandbox, id })
    const root = this.#folders.get(controller)
    return group && root ? textOf(path.join(root, group, file)) : ''
  }
}

/** Throws where a controller cannot be enabled. */
export const enable = (folder: string, names: readonly string[]): void =>
  writeFileSync(path.join(folder, 'cgroup.subtree_control'), names.map((name) => `+${name}`).join(' '))

/** True if the folder is gone; a group that has processes, or groups, stays. */
export function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return !existsSync(folder)
  }
}

const leastShare = {
  1: { file: 'cpu.shares', value: '2' },
  2: { file: 'cpu.weight', value: '1' },
} as const

type Limited = GroupOwner['sandbox'] & { limits: PodLimits }
const podGroup = ({ podUid, limits }: Pick<Limited, 'podUid'> & { limits?: PodLimits }): string =>
  path.join(classes[limits?.qos ?? ''] ?? '', `pod${podUid}`)
const containerGroup = ({ sandbox, id }: GroupOwner): string | undefined =>
  sandbox.limits && path.join(podGroup(sandbox), id)

const podGroupsIn = (root: string, name: string): string[] =>
  foldersIn(path.join(root, name))
    .filter((folder) => folder.startsWith('pod'))
    .map((folder) => path.join(name, folder))

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  } catch {
    return []
  }
}

const linesOf = (text: string): string[] => text.split('\n').filter(Boolean)
/** Reads lines of a name and a number. */
const numbersOf = (text: string): Map<string, number> =>
  new Map(
    linesOf(text)
      .map((line) => line.split(' '))
      .map(([name = '', number]) => [name, Number(number)]),
  )
