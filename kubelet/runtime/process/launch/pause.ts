import type { Sysctl } from '../../container-runtime.ts'
import { defaultPath } from '../../default-path.ts'
import { marker, markerVariable } from '../marker.ts'
import { newIpc, newProcesses } from '../view/container-view.ts'
import type { Step } from '../view/steps.ts'
import { containerScript, type Launch, perl } from './launch.ts'

/**
 * Holds the namespaces that a pod's containers share: of processes, in which it is process 1, and of IPC with its
 * parameters.
 */
export const pause = (
  runtimeRoot: string,
  { id, sharesProcesses, sysctls }: { id: string; sharesProcesses: boolean; sysctls: Sysctl[] },
): Launch => ({
  command: [perl, containerScript, 'pause', '0'],
  env: { PATH: defaultPath, [markerVariable]: marker(runtimeRoot, id) },
  workingDir: '/',
  namespaces: {
    kind: 'new',
    flags: (sharesProcesses ? newProcesses : 0) | (sysctls.length > 0 ? newIpc : 0),
    steps: sysctls.map(({ name, value }): Step => ['sysctl', name, value]),
  },
})
