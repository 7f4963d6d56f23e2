/** Commands that stand beside the core run a cluster, or keep processes in a folder, with these. */
import type { Cluster } from './cluster.ts'
import type { ClusterOptions } from './context.ts'

export type { Cluster } from './cluster.ts'
export type { ClusterOptions } from './context.ts'
export { version } from './package.ts'
export { type ClusterSettings, clusterOptions } from './settings.ts'
export { openStateDirectory, writingState } from './state-directory.ts'
export { Adopted } from './supervisor/adopted.ts'
export { tellStarter } from './supervisor/starter.ts'

/** Runs a cluster; what that needs is loaded by the first call. Rejects with a ConfigError for wrong settings. */
export async function runCluster(options: ClusterOptions): Promise<Cluster> {
  const { runCluster } = await import('./cluster.ts')
  return runCluster(options)
}
