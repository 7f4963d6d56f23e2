import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import type {
  ContainerConfig,
  ContainerRuntime,
  RuntimeCapabilities,
  Sandbox,
  SandboxConfig,
} from '../../../kubelet/runtime/container-runtime.ts'
import { createImages } from '../../../kubelet/runtime/images/images.ts'
import type { Cgroups } from '../../../kubelet/runtime/process/cgroups/cgroups.ts'
import { createProcessRuntime, startShim } from '../../../kubelet/runtime/process/index.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'

import { until } from '../../harness/until.ts'

export interface Node {
  rootDir: string
  shim: ChildProcess
  runtime: ContainerRuntime
  /** As the next kubelet finds it. The one before is closed: the shim answers one at a time. */
  again(): Promise<ContainerRuntime>
}

export async function startNode(
  t: Test,
  capabilities: RuntimeCapabilities = { isolation: 'none', files: 'host' },
  options: {
    /** The test's own; removed by it. */
    rootDir?: string
    /** On a system of which the shim knows no numbers of system calls. */
    unknownSystem?: boolean
    warn?(message: string): void
    layerBytes?: number
    ownNetworks?: boolean
    cgroups?: Cgroups
    /** The user of the shim and its containers, and of what it makes below `rootDir`. */
    uid?: number
  } = {},
): Promise<Node> {
  // Not t.testdir(): two runs of this file beside each other would take each other's shim away.
  const rootDir = options.rootDir ?? mkdtempSync(path.join(tmpdir(), 'kubestage-'))
  const { command, args: allArgs } = startShim({ rootDir })
  const args = options.unknownSystem ? allArgs.slice(0, 3) : allArgs
  if (options.uid !== undefined) {
    mkdirSync(path.join(rootDir, 'runtime'))
    for (const folder of [rootDir, path.join(rootDir, 'runtime')]) chownSync(folder, options.uid, -1)
  }
  const shim = spawn(command, args, { stdio: ['pipe', 'ignore', 'inherit'], detached: true, uid: options.uid })
  const runtimes: ContainerRuntime[] = []
  const open = async () => {
    const runtime = await createProcessRuntime({
      rootDir,
      clock: realClock,
      images: createImages({ commands: {}, paths: {} }),
      nodeIP: '127.0.0.1',
      supervised: true,
      capabilities,
      layerBytes: options.layerBytes,
      ownNetworks: options.ownNetworks,
      cgroups: options.cgroups,
      warn: options.warn ?? (() => {}),
    })
    runtimes.push(runtime)
    return runtime
  }
  t.teardown(async () => {
    await Promise.all(runtimes.map((runtime) => runtime.close()))
    shim.stdin?.end()
    await until(() => !isAlive(shim.pid ?? 0), { what: 'the shim to have ended' })
    if (options.rootDir === undefined) rmSync(rootDir, { recursive: true, force: true })
  })
  const again = async () => {
    await Promise.all(runtimes.map((runtime) => runtime.close()))
    return open()
  }
  return { rootDir, shim, runtime: await open(), again }
}

export const sandboxOf = (
  runtime: ContainerRuntime,
  podUid: string,
  hostNetwork = false,
  more: Partial<SandboxConfig> = {},
): Promise<Sandbox> =>
  runtime.startSandbox({
    podUid,
    namespace: 'default',
    name: podUid,
    hostNetwork,
    hostname: podUid,
    shareProcessNamespace: false,
    annotations: { note: 'kept' },
    ...more,
  })

export function configOf(
  node: Node,
  sandbox: Sandbox,
  command: string[],
  more: Partial<ContainerConfig> = {},
): ContainerConfig {
  return {
    sandboxId: sandbox.id,
    name: 'c',
    attempt: 0,
    image: 'busybox',
    imageId: 'sha256:0',
    command,
    env: {},
    path: [],
    logPath: path.join(node.rootDir, 'logs', sandbox.podUid, `${more.attempt ?? 0}.log`),
    stdin: false,
    tty: false,
    annotations: {},
    ...more,
  }
}

export const sh = (script: string): string[] => ['sh', '-c', script]
export const texts = (file: string): string[] =>
  (existsSync(file) ? readFileSync(file, 'utf8') : '')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' ').slice(3).join(' '))
export const isAlive = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ')[2] !== 'Z'
  } catch {
    return false
  }
}
export const recordOf = async (runtime: ContainerRuntime, id: string) => {
  const record = (await runtime.list()).containers.find((container) => container.id === id)
  if (!record) throw new Error(`no container ${id}`)
  return record
}
export const exited = (runtime: ContainerRuntime, id: string) =>
  until(async () => (await recordOf(runtime, id)).state === 'exited', { what: `${id} to have exited` })
