import os from 'node:os'
import type { ContainerConfig, RuntimeCapabilities, Sandbox } from '../container-runtime.ts'
import { type ContainerView, callsOf, viewWords } from './container-view.ts'
import { currentHostMounts, scratchDir, viewMounts } from './isolation.ts'
import { type Launch, type Namespaces, variables } from './launch-script.ts'
import { marker, markerVariable } from './marker.ts'
import type { StoredContainer } from './record-store.ts'
import { defaultPath } from './shim.ts'

/** What every process of the container finds in its environment. */
export function containerEnvironment(
  config: Pick<ContainerConfig, 'env' | 'path'>,
  { hostname, runtimeRoot, containerId }: { hostname: string; runtimeRoot: string; containerId: string },
): Record<string, string> {
  return {
    HOSTNAME: hostname,
    HOME: os.homedir(),
    ...config.env,
    PATH: [...config.path, config.env.PATH || defaultPath].join(':'),
    [markerVariable]: marker(runtimeRoot, containerId),
  }
}

export function containerLaunch(
  stored: StoredContainer,
  options: {
    sandbox: Sandbox
    files: RuntimeCapabilities['files']
    env: Record<string, string>
    workingDir: string
    runtimeRoot: string
  },
): Launch {
  const { env, workingDir } = options
  const { command, input, stdinOnce, pipe } = stored
  return {
    command,
    env,
    workingDir,
    ...(input !== undefined && { input: { pipe: input, made: !stdinOnce } }),
    output: pipe,
    namespaces: namespacesOf(stored, options),
  }
}

function namespacesOf(
  stored: StoredContainer,
  { sandbox, files, env, workingDir, runtimeRoot }: Parameters<typeof containerLaunch>[1],
): Namespaces {
  const numbers = callsOf(process.arch)
  if (files === 'host' || !numbers) return { kind: stored.isolated ? 'new' : 'none' }
  const view: ContainerView = {
    files,
    scratch: scratchDir(runtimeRoot),
    hostMounts: files === 'own' ? currentHostMounts() : [],
    mounts: viewMounts(stored.mounts ?? [], files),
    ownProcesses: stored.isolated,
    ...(!sandbox.hostNetwork && { hostname: sandbox.hostname }),
    workingDir,
    env: variables(env),
    command: stored.command,
  }
  return { kind: 'view', words: viewWords(view, numbers) }
}
