// A cluster whose objects are in a file or in etcd outlives its API server: cluster/supervisor/guardian.pl is then the process that the user starts.
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Number of the system call prctl by processor; 0: none is known. */
const prctl = process.platform === 'linux' ? ({ x64: 157, arm64: 167 }[process.arch] ?? 0) : 0

/** The command line of the guardian of this one; undefined without Perl, where no pods run. */
export function guarded(root, command, path = process.env.PATH ?? '') {
  const perl = path
    .split(delimiter)
    .map((folder) => join(folder, 'perl'))
    .find(isProgram)
  const places = ['cluster', join('dist', 'cluster')].map((folder) => join(root, folder, 'supervisor', 'guardian.pl'))
  const program = places.find((file) => existsSync(file))
  return perl && program ? [perl, program, `${prctl}`, ...command] : undefined
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
