import { statSync } from 'node:fs'
import { join } from 'node:path'
import { stateDirectory, stateDirOption } from '../../cluster/state-directory.ts'
import { loadKubeconfig } from '../../shared/client/kubeconfig.ts'
import type { ClusterAccess } from '../../shared/client/rest-client.ts'
import { ConfigError, option, UsageError } from '../../shared/config/option.ts'
import { path } from '../../shared/config/option-types.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { inOneSentence } from '../../shared/config/system-errors.ts'
import { readRegularFile } from '../../shared/files/regular-file.ts'
import { type Found, findRunning, type RunningCluster } from './running.ts'

/** Defines the `--kubeconfig` flag of every command that talks to a cluster. */
export const kubeconfigOption = option(path, {
  default: '',
  help: "Speak to the cluster of this kubeconfig, not to the state folder's own",
})
export const clusterPlace = { config: configOption, stateDir: stateDirOption, kubeconfig: kubeconfigOption }

/** Names a cluster by the values of the flags in {@link clusterPlace}. */
export interface Place {
  stateDir: string
  /** Names the kubeconfig; empty for that of the state folder. */
  kubeconfig: string
}

/**
 * Returns access as administrator to the cluster that the flags name. A cluster that runs in the state folder is
 * reached by its recorded facts, not by its kubeconfig, which the user may edit; of several API servers it is the
 * first. Throws a ConfigError if no cluster runs.
 */
export async function accessTo(place: Place): Promise<ClusterAccess> {
  const file = elsewhere(place)
  if (file !== undefined) return await accessOf(file)
  const found = findRunning(place.stateDir)
  if (found.running) return adminAccess({ ...found, running: found.running })
  throw noClusterRuns(place)
}

export const noClusterRuns = (
  { stateDir }: Pick<Place, 'stateDir'>,
  otherwise = 'or name its folder with --state-dir, or its --kubeconfig',
): ConfigError => new ConfigError(`no cluster runs in ${stateDir}: start one with kubestage up, ${otherwise}`)

/**
 * Returns the kubeconfig of a cluster that `kubestage up` did not start in this folder: the file of `--kubeconfig`, or
 * the file that docker-compose left in the state folder. Returns undefined if there is neither.
 */
export function elsewhere({ stateDir, kubeconfig }: Place): string | undefined {
  if (kubeconfig) return kubeconfig
  const state = stateDirectory(stateDir)
  return isThere(state.pki) || !isThere(state.kubeconfig) ? undefined : state.kubeconfig
}

/** Returns whether the path exists. Throws EACCES if a folder above it belongs to another user. */
export const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** Returns the error for a command that needs files or processes that only a cluster of `kubestage up` has. */
export const notOurs = (stateDir: string, instead: string): ConfigError =>
  new ConfigError(`the cluster of ${join(stateDir, 'kubeconfig')} was not started by kubestage up: ${instead}`)

/** Loads a kubeconfig. Throws a UsageError that names the file if it is not a valid kubeconfig. */
export async function accessOf(file: string): Promise<ClusterAccess> {
  try {
    return await loadKubeconfig(file)
  } catch (error) {
    const { message } = inOneSentence(error as Error) ?? (error as Error)
    throw new UsageError(
      message.includes(file) ? message : `${file} is not a valid kubeconfig: ${message.split('\n')[0]}`,
    )
  }
}

function adminAccess({ state, running }: Found & { running: RunningCluster }): ClusterAccess {
  const pem = (name: string): string => readRegularFile(join(state.pki, name))
  return { server: running.ownUrl ?? running.url, ca: pem('ca.crt'), cert: pem('admin.crt'), key: pem('admin.key') }
}
