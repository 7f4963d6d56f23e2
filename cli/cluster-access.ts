import { statSync } from 'node:fs'
import { join } from 'node:path'
import { stateDirectory, stateDirOption } from '../cluster/state-directory.ts'
import { loadKubeconfig } from '../shared/client/kubeconfig.ts'
import type { ClusterAccess } from '../shared/client/rest-client.ts'
import { ConfigError, option, UsageError } from '../shared/config/option.ts'
import { path } from '../shared/config/option-types.ts'
import { configOption } from '../shared/config/resolve.ts'
import { inOneSentence } from '../shared/config/system-errors.ts'
import { readRegularFile } from '../shared/files/regular-file.ts'
import { type Found, findRunning, type RunningCluster } from './running.ts'

/** Of every command that speaks to a cluster. */
export const kubeconfigOption = option(path, {
  default: '',
  help: "Speak to the cluster of this kubeconfig, not to the state folder's own",
})
export const clusterPlace = { config: configOption, stateDir: stateDirOption, kubeconfig: kubeconfigOption }

/** What {@link clusterPlace} says. */
export interface Place {
  stateDir: string
  /** Empty: that of the state folder. */
  kubeconfig: string
}

/**
 * The cluster that is meant, as its administrator. The state folder's own is not reached by its kubeconfig, which is
 * the user's to change. Throws where there is none.
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
 * The kubeconfig of a cluster that no `kubestage up` of this folder started: the one that is named, or one that
 * docker-compose left there.
 */
export function elsewhere({ stateDir, kubeconfig }: Place): string | undefined {
  if (kubeconfig) return kubeconfig
  const state = stateDirectory(stateDir)
  return isThere(state.pki) || !isThere(state.kubeconfig) ? undefined : state.kubeconfig
}

/** Throws EACCES for what is another user's. */
export const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** For what only files and processes of our own can tell. */
export const notOurs = (stateDir: string, instead: string): ConfigError =>
  new ConfigError(`the cluster of ${join(stateDir, 'kubeconfig')} was not started by kubestage up: ${instead}`)

/** As a kubeconfig says; throws a UsageError for what is none. */
export async function accessOf(file: string): Promise<ClusterAccess> {
  try {
    return await loadKubeconfig(file)
  } catch (error) {
    const { message } = inOneSentence(error as Error) ?? (error as Error)
    throw new UsageError(message.includes(file) ? message : `${file} is no kubeconfig: ${message.split('\n')[0]}`)
  }
}

function adminAccess({ state, running }: Found & { running: RunningCluster }): ClusterAccess {
  const pem = (name: string): string => readRegularFile(join(state.pki, name))
  return { server: running.url, ca: pem('ca.crt'), cert: pem('admin.crt'), key: pem('admin.key') }
}
