import { join } from 'node:path'
import type { StorageChoice } from '../apiserver/storage/open-storage.ts'
import { writeKubeconfig } from '../shared/pki/kubeconfig-file.ts'
import type { ClusterContext } from './context.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { explainListening } from './explain-listening.ts'
import { podNetworkOf } from './pod-range.ts'
import { checkNotShared, ownPort, sharesPort } from './shared-port.ts'
import type { ApiServers } from './supervisor/api-servers.ts'
import type { LocalEtcd } from './supervisor/local-etcd.ts'

/** Starts the cluster's own etcd if `--storage etcd` names no members. */
export async function startOwnEtcd(context: ClusterContext): Promise<LocalEtcd | undefined> {
  const { storage } = context.settings
  if (storage.engine !== 'etcd' || storage.endpoints.length > 0) return undefined
  const { LocalEtcd } = await import('./supervisor/local-etcd.ts')
  return LocalEtcd.start({ ...context, onStart: context.onKubelet })
}

/** Starts the API server of this process, which is the first of the cluster. */
export async function startFirstServer(context: ClusterContext, etcd?: LocalEtcd): Promise<ControlPlane> {
  const { settings, state, pki, clusterClock, log, plugins, onTrouble } = context
  return startControlPlane({
    ...settings,
    ...(await portOfFirst(context)),
    ...(etcd?.access ?? offered(context)),
    ...(settings.network === 'pod' && podNetworkOf(settings)),
    controllers: context.controllers ?? settings.controllers,
    volumesDir: state.volumes,
    clock: clusterClock,
    plugins,
    pki,
    log,
    onTrouble,
  }).catch(explainListening(settings))
}

/** Starts the other API servers, each in a process of its own, if there is to be more than one. */
export async function startOtherServers(
  context: ClusterContext,
  { url }: ControlPlane,
  etcd?: LocalEtcd,
): Promise<ApiServers | undefined> {
  const { settings } = context
  if (settings.apiservers === 1) return undefined
  const { ApiServers } = await import('./supervisor/api-servers.ts')
  const { offerAt } = offered(context)
  const storage: StorageChoice = offerAt ? { engine: 'shared', path: offerAt } : settings.storage
  return ApiServers.start({ ...context, url, storage, ...etcd?.access, onStart: context.onKubelet })
}

/** Writes a kubeconfig context for the cluster, and one for each of several API servers. Returns all their URLs. */
export async function writeKubeconfigs(
  { state, pki, onTrouble }: ClusterContext,
  { url, ownUrl }: ControlPlane,
  others: ApiServers | undefined,
): Promise<string[]> {
  const urls = others ? [url, ownUrl, ...others.list().map((other) => other.url)] : [url]
  for (const [number, server] of urls.entries()) {
    const name = number === 0 ? 'kubestage' : `kubestage-${number}`
    const trouble = await writeKubeconfig(state.kubeconfig, { name, server, ca: pki.ca.cert, user: pki.admin })
    if (trouble) onTrouble(trouble)
  }
  return [...new Set(urls)]
}

/** Returns the port at which the first of several servers that share a port answers alone. */
async function portOfFirst(context: ClusterContext): Promise<{ ownPort?: number }> {
  const { settings, guardian } = context
  if (!sharesPort(settings)) return {}
  await checkNotShared(settings, guardian).catch(explainListening(settings))
  return { ownPort: context.ownPort ?? (await ownPort(settings, 1)) }
}

/** Returns where the first of several servers offers the store that it holds in memory or in a file. */
const offered = ({ state, settings: { apiservers, storage } }: ClusterContext): { offerAt?: string } =>
  apiservers > 1 && storage.engine !== 'etcd' ? { offerAt: join(state.root, 'apiservers', 'store.sock') } : {}
