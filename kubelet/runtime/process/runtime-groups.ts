import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../../shared/clock/clock.ts'
import type { LimitedResource, PodLimits, ResourceLimits, Sandbox } from '../container-runtime.ts'
import type { Cgroups, GroupOwner, GroupUsage } from './cgroups/cgroups.ts'
import type { Controller } from './cgroups/hierarchies.ts'
import type { Container } from './containers/container.ts'
import type { ContainerGroups, Containers } from './containers/containers.ts'
import { PidsWatch } from './containers/pids-watch.ts'
import type { Sandboxes } from './containers/sandboxes.ts'

/** Makes, asks and removes the control groups of a runtime's pods and containers, where the machine has any. */
export class RuntimeGroups implements ContainerGroups {
  readonly #cgroups: Cgroups | undefined
  readonly #sandboxes: Sandboxes
  #pids: PidsWatch | undefined

  constructor(cgroups: Cgroups | undefined, sandboxes: Sandboxes) {
    this.#cgroups = cgroups
    this.#sandboxes = sandboxes
  }

  get limited(): readonly LimitedResource[] | undefined {
    return this.#cgroups?.limited
  }

  /** Writes into the runtime's folder what the shim removes when it ends. */
  announce(root: string): void {
    const roots = this.#cgroups?.roots() ?? []
    if (roots.length > 0) writeFileSync(path.join(root, 'cgroups'), roots.map((one) => `${one}\n`).join(''))
  }

  /** Makes the folders of the node. Idempotent. */
  prepare(): void {
    this.#cgroups?.prepare()
  }

  /** Makes the folders of the node, and removes the groups of all but these containers and the pods that run. */
  keep(running: readonly Container[]): void {
    this.prepare()
    const ready = [...this.#sandboxes.all()].filter(({ state }) => state === 'ready')
    this.#cgroups?.keep([...running.map((one) => this.#owner(one)), ...ready.map((sandbox) => ({ sandbox, id: '' }))])
  }

  /** Tells of pods that want more processes than they may have, by their first container. */
  watchPids(containers: Containers, clock: Clock): void {
    const cgroups = this.#cgroups
    if (!cgroups?.limited.includes('pids')) return
    this.#pids = new PidsWatch({
      sandboxes: () => this.#sandboxes.all(),
      refused: (sandbox) => cgroups.refusedProcesses(sandbox),
      clock,
      onRefused({ id }) {
        const [container] = containers.ofSandbox(id)
        if (container) containers.reached('podPidsLimit', container)
      },
    })
  }

  close(): void {
    this.#pids?.close()
  }

  addPod(sandbox: Sandbox): void {
    this.#cgroups?.addPod(sandbox)
  }

  /** The pod's group goes with its last sandbox, which is forgotten already. */
  removePod(sandbox: Sandbox): void {
    if (this.#sandboxes.ofPod(sandbox.podUid).length === 0) this.#cgroups?.removePod(sandbox)
  }

  /** Returns the files by which a process enters the container's group, and the folders of the group. */
  add(
    container: Container,
    limits: ResourceLimits | undefined,
  ): { entrances: string[]; groups: [Controller, string][] } {
    const owner = this.#owner(container)
    const entrances = (limits && this.#cgroups?.addContainer(owner, limits)) || []
    return { entrances, groups: entrances.length > 0 ? (this.#cgroups?.folders(owner) ?? []) : [] }
  }

  entrances(container: Container): string[] {
    return this.#cgroups?.entrances(this.#owner(container)) ?? []
  }

  /** Throws where the kernel refuses. */
  resize(sandbox: Sandbox, limits: PodLimits, containers: ReadonlyMap<string, ResourceLimits>): void {
    this.#cgroups?.resize(sandbox, limits, containers)
  }

  usage(container: Container): GroupUsage | undefined {
    return this.#cgroups?.usage(this.#owner(container))
  }

  ranOutOfMemory(container: Container): boolean {
    return this.#cgroups?.ranOutOfMemory(this.#owner(container)) ?? false
  }

  remove(container: Container): void {
    this.#cgroups?.removeContainer(this.#owner(container))
  }

  #owner({ stored: { id, sandboxId, podUid } }: Container): GroupOwner {
    return { id, sandbox: this.#sandboxes.get(sandboxId) ?? { podUid } }
  }
}
