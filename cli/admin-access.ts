import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClusterAccess } from '../shared/client/rest-client.ts'
import type { Found, RunningCluster } from './running.ts'

/** How to reach the cluster that runs there, as its administrator: not by its kubeconfig, which is the user's to change. */
export function adminAccess({ state, running }: Found & { running: RunningCluster }): ClusterAccess {
  const pem = (name: string): string => readFileSync(join(state.pki, name), 'utf8')
  return { server: running.url, ca: pem('ca.crt'), cert: pem('admin.crt'), key: pem('admin.key') }
}
