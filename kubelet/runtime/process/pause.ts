import { newProcesses } from './container-view.ts'
import { containerScript, type Launch, perl } from './launch.ts'
import { marker, markerVariable } from './marker.ts'
import { defaultPath } from './shim.ts'

/** Process 1 of a pod whose containers share their processes. */
export const pause = (runtimeRoot: string, sandboxId: string): Launch => ({
  command: [perl, containerScript, 'pause', '0'],
  env: { PATH: defaultPath, [markerVariable]: marker(runtimeRoot, sandboxId) },
  workingDir: '/',
  namespaces: { kind: 'new', flags: newProcesses, steps: [] },
})
