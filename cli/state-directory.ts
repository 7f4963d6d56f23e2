import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigError, option } from '../shared/config/option.ts'
import { path } from '../shared/config/option-types.ts'
import { takeLock } from './lock.ts'

/** Where a cluster keeps what it needs between starts. */
export interface StateDirectory {
  root: string
  kubeconfig: string
  pki: string
  logs: string
  lock: string
  /** What runs here; there while it is ready. */
  running: string
  /** The kubelet's own root. */
  kubelet: string
}

export const stateDirOption = option(path, {
  default: '.kubestage',
  help: 'Folder for kubeconfig, certificates and logs',
})

export function stateDirectory(directory: string): StateDirectory {
  const root = resolve(directory)
  return {
    root,
    kubeconfig: join(root, 'kubeconfig'),
    pki: join(root, 'pki'),
    logs: join(root, 'logs'),
    lock: join(root, 'lock'),
    running: join(root, 'running.json'),
    kubelet: join(root, 'kubelet'),
  }
}

const remedy = 'choose another folder with --state-dir'
const reasons: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is a file',
  EEXIST: 'it is a file',
  ENOENT: 'no folder can be made there',
}

/** Makes the folder and takes it for this process; `release` gives it back. */
export function openStateDirectory(directory: string): StateDirectory & { release(): void } {
  const state = stateDirectory(directory)
  try {
    makeFolder(state.root)
    const lock = takeLock(state.lock)
    if (lock.taken) return { ...state, release: lock.release }
    throw new ConfigError(
      `already running with state folder ${directory} (process ${lock.pid}); stop it first, or ${remedy}`,
    )
  } catch (error) {
    const reason = reasons[(error as NodeJS.ErrnoException).code ?? '']
    throw reason ? new ConfigError(`cannot write to state folder ${directory}: ${reason}; ${remedy}`) : error
  }
}

/** Level by level: under /proc, where none can be made, Node's own `recursive` tries for ever. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) {
    mkdirSync(folder, { recursive: true }) // a file in its place fails here
    return
  }
  makeFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}
