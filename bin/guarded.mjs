// A cluster whose objects are in a file or in etcd outlives its API server: cluster/supervisor/guardian.pl is then the process that the user starts.
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Number of the system call prctl by processor; 0: none is known. */
const prctl = process.platform === 'linux' ? ({ x64: 157, arm64: 167 }[process.arch] ?? 0) : 0

/** Whether these words after `kubestage` start a cluster in the foreground whose objects are in a file or in etcd. It may err: then nothing is lost but this. */
export function wantsGuardian(args, env) {
  if (args[0] !== 'up' || env.KUBESTAGE_GUARDIAN !== undefined) return false
  if (args.some((arg) => ['-d', '--detach', '--help', '-h'].includes(arg))) return false
  const given = /--storage[= ](\w+)/.exec(args.join(' '))?.[1] ?? env.KUBESTAGE_STORAGE
  if (given !== undefined) return /^(sqlite|etcd)/.test(given)
  const file = /--config[= ](\S+)/.exec(args.join(' '))?.[1] ?? env.KUBESTAGE_CONFIG ?? 'kubestage.yaml'
  return existsSync(file) && /^\s*["']?storage["']?\s*:\s*["']?(sqlite|etcd)/m.test(readFileSync(file, 'utf8'))
}

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
