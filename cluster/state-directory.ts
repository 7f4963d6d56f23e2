import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ConfigError, option } from '../shared/config/option.ts'
import { folder } from '../shared/config/option-types.ts'
import { inOneSentence } from '../shared/config/system-errors.ts'
import { makeFolder } from '../shared/files/make-folder.ts'
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
  /** A folder for each volume that a claim got. */
  volumes: string
  /** The kubelet's own root. */
  kubelet: string
}

export const stateDirOption = option(folder, {
  default: '.kubestage',
  help: 'Folder for kubeconfig, certificates and logs',
})

export function stateDirectory(directory: string): StateDirectory {
  const root = resolve(directory)
  return {
    root,
    kubeconfig: join(root, 'kubeconfig'),
    pki: join(root, 'pki'),
    volumes: join(root, 'volumes'),
    logs: join(root, 'logs'),
    lock: join(root, 'lock'),
    running: join(root, 'running.json'),
    kubelet: join(root, 'kubelet'),
  }
}

/** The folders of a node beside the cluster's first. */
export function nodeDirectory(state: StateDirectory, name: string): StateDirectory {
  const root = join(state.root, 'nodes', name)
  return { ...state, root, pki: join(root, 'pki'), logs: join(state.logs, name), kubelet: join(root, 'kubelet') }
}

const remedy = 'choose another folder with --state-dir'
/** Of the folder itself, where other words fit better. */
const folderReasons: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file',
  ENOENT: 'no folder can be made there',
}

/** Does what needs the state folder; what its disk refuses is told in one sentence. */
export async function writingState<Result>(directory: string, write: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    throw (
      inOneSentence(error as Error, { place: `cannot write to state folder ${directory}`, remedy }, folderReasons) ??
      error
    )
  }
}

/** Refuses a folder that another user has made or can change: that user would hold the keys of this cluster. */
function assertOwn(directory: string, { root, pki, kubeconfig }: StateDirectory): void {
  const own = process.getuid?.()
  if (own === undefined) return
  const keys = statSync(pki, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(pki).map((name) => join(pki, name))
    : []
  for (const file of [root, pki, kubeconfig, ...keys]) {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found && found.uid !== own) {
      throw new ConfigError(
        `state folder ${directory}: ${file} belongs to user ${found.uid}, and this process to user ${own}; ${remedy}`,
      )
    }
    if (found && (found.mode & writableByOthers) !== 0)
      throw new ConfigError(`state folder ${directory}: every user can write to ${file}; chmod o-w it, or ${remedy}`)
  }
}

const writableByOthers = 0o002

/**
 * Makes the folder and takes it for this process; `release` gives it back. Throws what its disk refuses. `end`: the
 * command that ends what runs with the folder.
 */
export function openStateDirectory(
  directory: string,
  { end = 'kubestage down' }: { end?: string } = {},
): StateDirectory & { release(): void } {
  const state = stateDirectory(directory)
  makeFolder(state.root)
  assertOwn(directory, state)
  const lock = takeLock(state.lock)
  if (lock.taken) return { ...state, release: lock.release }
  throw new ConfigError(
    `already running with state folder ${directory} (process ${lock.pid}); stop it with ${end}, or ${remedy}`,
  )
}
