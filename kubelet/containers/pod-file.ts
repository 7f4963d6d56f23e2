import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Container, Pod } from '../../shared/api/types.ts'
import { textOf } from '../../shared/files/readable.ts'
import { podDir } from '../pod/folders.ts'
import type { Mount } from '../runtime/container-runtime.ts'

/** Returns true if the container mounts a volume at the path of a file that the kubelet would write. */
export const mountsItself = ({ volumeMounts = [] }: Container, file: string): boolean =>
  volumeMounts.some(({ mountPath }) => path.resolve('/', mountPath) === file)

/** A file that the kubelet writes for a pod, as a mount at its place; `name` is its name in the pod's folder. */
export function podFileMount(
  pod: Pod,
  { containerPath, name, text, rootDir }: { containerPath: string; name: string; text: string; rootDir: string },
): Mount {
  const hostPath = path.join(podDir(rootDir, pod.metadata.uid ?? ''), name)
  // Most files are new, and to read what is not there costs more than to look.
  const isThere = statSync(hostPath, { throwIfNoEntry: false }) !== undefined
  if (!isThere || textOf(hostPath) !== text) write(hostPath, text)
  return { containerPath, hostPath, readonly: false }
}

/** Makes the pod's folder only where it is missing: the kubelet has made it for the pod's volumes. */
function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}
