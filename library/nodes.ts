import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { firstAddress } from '../apiserver/control-plane.ts'
import type { ClusterSettings } from '../cli/cluster-options.ts'
import type { StateDirectory } from '../cli/state-directory.ts'
import { Child } from '../cli/supervisor/child.ts'
import { kubeletSpec } from '../cli/supervisor/child-specs.ts'
import { readyTimeoutMs, startNode } from '../cli/supervisor/node.ts'
import { nodeIsReady } from '../cli/supervisor/node-ready.ts'
import { kubeletOptions } from '../kubelet/config.ts'
import { runNode } from '../kubelet/run-node.ts'
import type { Client } from '../shared/client/client.ts'
import type { Clock } from '../shared/clock/clock.ts'
import { resolveOptions } from '../shared/config/resolve.ts'
import type { Logger } from '../shared/log/log.ts'
import { ensureClusterPki } from '../shared/pki/cluster-pki.ts'

export interface RealNodeOptions {
  name: string
  settings: ClusterSettings
  /** Of the whole cluster. */
  state: StateDirectory
  url: string
  /** The machine's. */
  clock: Clock
  timeOriginMs: number
  client: Client
  onTrouble(line: string): void
  kubelet: Child
}

export interface StartedNode {
  name: string
  stop(): Promise<void>
  /** Of the kubelet that runs now; undefined where it has no process of its own. */
  kubeletPid(): number | undefined
}

/** The kubelet of a node whose name is known: it loads its program beside the server, and waits for `startRealNode`. */
export function startKubelet(state: StateDirectory, name: string): Child {
  const own = nodeDirectory(state, name)
  mkdirSync(own.logs, { recursive: true, mode: 0o700 })
  return new Child(kubeletSpec(own))
}

/** A kubelet in a process of its own, with a folder of its own; resolves when the node is ready. */
export async function startRealNode(options: RealNodeOptions): Promise<StartedNode> {
  const { name, settings, state, clock, client, ...rest } = options
  const own = nodeDirectory(state, name)
  mkdirSync(own.pki, { recursive: true, mode: 0o700 })
  for (const file of ['ca.crt', 'ca.key']) copyFileSync(join(state.pki, file), join(own.pki, file))
  const serviceAddress = firstAddress(settings.serviceCidr)
  const { host } = settings
  const pki = ensureClusterPki({ directory: own.pki, nowMs: clock.now(), host, serviceAddress, nodeName: name })
  const node = await startNode({ ...rest, settings: { ...settings, nodeName: name }, state: own, pki, clock }, client)
  return { name, ...node }
}

function nodeDirectory(state: StateDirectory, name: string): StateDirectory {
  const root = join(state.root, 'nodes', name)
  return { ...state, root, pki: join(root, 'pki'), logs: join(state.logs, name), kubelet: join(root, 'kubelet') }
}

export interface SimulatedNodeOptions {
  name: string
  state: StateDirectory
  client: Client
  clock: Clock
  log: Logger
  brief: boolean
  settings: ClusterSettings
}

/** A kubelet in this process whose containers are timers; resolves when the node is ready. */
export async function startSimulatedNode(options: SimulatedNodeOptions): Promise<StartedNode> {
  const { name, state, client, clock, log, brief, settings } = options
  const { values } = await resolveOptions(kubeletOptions, { args: [], env: {} })
  const { featureGates } = settings
  const rootDir = join(state.root, 'nodes', name, 'kubelet')
  mkdirSync(rootDir, { recursive: true, mode: 0o700 })
  const config = {
    ...values,
    featureGates,
    nodeName: name,
    rootDir,
    runtime: 'simulated' as const,
    shutdownGracePeriod: 0,
  }
  const node = await runNode({ config, client, clock, log, brief })
  const { controllers } = settings
  const logFile = join(state.logs, 'apiserver.log')
  try {
    await node.ready
    await nodeIsReady({ client, clock: clock.machine, nodeName: name, timeoutMs: readyTimeoutMs, controllers, logFile })
  } catch (error) {
    await node.stop()
    throw error
  }
  return { name, stop: () => node.stop(), kubeletPid: () => undefined }
}
