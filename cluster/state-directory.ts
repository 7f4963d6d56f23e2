import { readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { ConfigError, option } from '../shared/config/option.ts'
import { folder } from '../shared/config/option-types.ts'
import { inOneSentence, type Wording } from '../shared/config/system-errors.ts'
import { takeLock } from '../shared/files/lock.ts'
import { makeFolder } from '../shared/files/make-folder.ts'
import { userName } from '../shared/files/owner.ts'
import { notAFile } from '../shared/files/regular-file.ts'

/** Names the files and folders that a cluster keeps between starts. */
export interface StateDirectory {
  root: string
  kubeconfig: string
  pki: string
  logs: string
  lock: string
  /** Description of the running cluster; exists while the cluster is ready. */
  running: string
  /** Names the parent of the folders of provisioned volumes. */
  volumes: string
  /** Names the root folder of the kubelet. */
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

/** Returns the folders of a node other than the cluster's first. */
export function nodeDirectory(state: StateDirectory, name: string): StateDirectory {
  const root = join(state.root, 'nodes', name)
  return { ...state, root, pki: join(root, 'pki'), logs: join(state.logs, name), kubelet: join(root, 'kubelet') }
}

const remedy = 'choose another folder with --state-dir'
/** Words these errors of the folder itself. */
const folderReasons: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file',
  ENOENT: 'no folder can be made there',
}

/** These errors mean that a file below the folder is in the way: moving it helps, and so does another folder. */
const inTheWay = ['EISDIR', 'ENOTDIR', 'EEXIST', 'EFTYPE', 'ELOOP']

function wordingFor(directory: string, { code = '', path = '', dest = path }: SystemError): Wording {
  const inside = relative(resolve(directory), dest)
  if (!inside || inside.startsWith('..') || !inTheWay.includes(code))
    return { place: `cannot write to state folder ${directory}`, remedy }
  return { place: `state folder ${directory}: cannot use ${dest}`, remedy: `move it away, or ${remedy}` }
}

type SystemError = NodeJS.ErrnoException & { dest?: string }

/** Does what needs the state folder; what its disk refuses is told in one sentence. */
export async function writingState<Result>(directory: string, write: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    const wording = wordingFor(directory, error as SystemError)
    throw inOneSentence(error as Error, wording, wording.remedy === remedy ? folderReasons : {}) ?? error
  }
}

/**
 * Refuses a folder that another user has made or can change: that user would hold the keys of this cluster. Throws
 * EFTYPE for a pipe in the place of a file, which would be waited for, and EEXIST for a file in the place of a folder.
 */
function assertOwn(directory: string, { root, pki, kubeconfig, ...state }: StateDirectory): void {
  const own = process.getuid?.()
  const folders = [root, pki, state.logs, state.kubelet, state.volumes]
  const files = [kubeconfig, state.lock, state.running, ...filesIn(pki), ...filesIn(state.logs)]
  for (const path of [...folders, ...files]) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (!found) continue
    const isGuarded = [root, pki, kubeconfig].includes(path) || dirname(path) === pki
    if (isGuarded && own !== undefined && found.uid !== own)
      throw new ConfigError(
        `state folder ${directory}: ${path} belongs to user ${userName(found.uid)}, and this process to user ${userName(own)}; ${remedy}`,
      )
    if (isGuarded && own !== undefined && (found.mode & writableByOthers) !== 0)
      throw new ConfigError(`state folder ${directory}: every user can write to ${path}; chmod o-w it, or ${remedy}`)
    if (!found.isFile() && !found.isDirectory()) throw notAFile(path)
    if (found.isFile() && folders.includes(path)) throw Object.assign(new Error(path), { code: 'EEXIST', path })
  }
}

const filesIn = (folder: string): string[] =>
  statSync(folder, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(folder).map((name) => join(folder, name))
    : []

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
