import { mkdtempSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from '../../cluster/package.ts'
import { tryProgram } from '../../cluster/supervisor/try-program.ts'
import { openCgroups } from '../../kubelet/runtime/process/cgroups/open-cgroups.ts'
import { possibleIsolation } from '../../kubelet/runtime/process/launch/isolation.ts'
import { whyNoNetworks } from '../../kubelet/runtime/process/network/door.ts'
import { whyRefused } from '../../shared/config/system-errors.ts'
import type { Finding } from './finding.ts'
import type { MachineKind } from './machine-kind.ts'
import { missingPorts, missingUsers, nextLevel } from './next-level.ts'

/** Reports the versions of Kubestage and Node. Degraded on systems other than Linux, which have no isolation. */
export async function program(): Promise<Finding> {
  const { platform, arch, versions } = process
  const found = `Kubestage ${version} with Node ${versions.node} on ${platform} ${arch}`
  if (platform === 'linux') return { name: 'program', state: 'good', found }
  const remedy = 'pods are plain processes here: for isolation of processes and files use Linux'
  return { name: 'program', state: 'degraded', found, remedy }
}

/**
 * Checks that perl, which starts containers, is installed. Bad without it: `--kubelet=false` is then the only choice.
 */
export async function perl(): Promise<Finding> {
  const name = 'perl'
  const found = await tryProgram('perl', ['-e', 'printf "%vd", $^V'])
  if (found) return { name, state: 'good', found }
  const remedy = 'install perl, which starts containers; --kubelet=false needs none, and has no pods'
  return { name, state: 'bad', found: 'not found on PATH', remedy }
}

/** The levels there are, from the most that a container may have for itself to the least. */
const levels = {
  own: 'isolation pod, files own: a container has its own processes, and changes files for itself alone',
  mounts:
    "isolation pod, files mounts: a container has its own processes and volumes, and otherwise the machine's files",
  host: "isolation none, files host: containers share the machine's processes and files",
} as const
const levelOf = { own: 'networks', mounts: 'processes', host: 'programs' } as const

/** Reports how much isolation containers can get on this machine: namespaces and file systems of their own. */
export async function containers(machine: MachineKind): Promise<Finding> {
  const name = 'containers'
  let rootDir: string
  try {
    rootDir = mkdtempSync(join(tmpdir(), 'kubestage-doctor-'))
  } catch (error) {
    const found = `cannot be tried: ${tmpdir()} cannot be written (${whyRefused(error as Error)})`
    return { name, state: 'degraded', found, remedy: 'name a folder for temporary files with TMPDIR' }
  }
  try {
    const { files } = await possibleIsolation({ rootDir })
    const remedy = nextLevel(levelOf[files], machine)
    return { name, state: remedy ? 'degraded' : 'good', found: levels[files], ...(remedy && { remedy }) }
  } finally {
    rmSync(rootDir, { recursive: true, force: true })
  }
}

/** Reports whether pods can have networks of their own (`--network pod`). */
export async function networks(machine: MachineKind): Promise<Finding> {
  const name = 'networks'
  const why = await whyNoNetworks()
  const given = '--network pod gives each pod a network of its own'
  if (!why && machine.isRoot) return { name, state: 'good', found: given }
  if (!why) {
    const remedy = 'that the machine reaches pods at their addresses needs root: try sudo'
    return { name, state: 'degraded', found: `${given}, which only the kubelet reaches`, remedy }
  }
  const found = `pods share the network of the machine: ${why}`
  return {
    name,
    state: 'degraded',
    found,
    remedy: nextLevel('files', machine),
  }
}

/** Reports which users programs in containers can be, and which ports of the machine pods can have. */
export function rights(machine: MachineKind): Finding {
  const name = 'rights'
  const [users, ports] = [missingUsers(machine), missingPorts(machine)]
  if (!users && !ports) return { name, state: 'good', found: 'containers run as any user, and have any hostPort' }
  const found = [users && 'containers have one user', ports && `no hostPort below ${machine.firstPort}`]
  return {
    name,
    state: 'degraded',
    found: found.filter(Boolean).join('; '),
    remedy: [users, ports].filter(Boolean).join('; '),
  }
}

/** Reports whether the kernel can keep containers within their limits, by trial. */
export async function limits(): Promise<Finding> {
  const name = 'limits'
  const found = await openCgroups(join(tmpdir(), `kubestage-doctor-${process.pid}`))
  if (typeof found === 'string') {
    const remedy =
      'limits need a place for control groups: try sudo, or as an ordinary user systemd-run --user --scope -p Delegate=yes'
    return { name, state: 'degraded', found: `memory and CPU are not limited: ${found}`, remedy }
  }
  found.remove()
  const what = `${found.limited.join(', ')} by control groups of version ${found.version}`
  const missing = (['cpu', 'memory', 'pids'] as const).filter((name) => !found.limited.includes(name))
  if (missing.length > 0)
    return { name, state: 'degraded', found: `only ${what}`, remedy: `let us control ${missing.join(' and ')} as well` }
  return { name, state: 'good', found: found.version === 1 ? `${what}, with --limits cgroup` : what }
}

/** Checks that terminals can be made, which containers with `tty: true` and `kubectl exec -t` need. */
export async function terminals(): Promise<Finding> {
  const name = 'terminals'
  try {
    await (await open('/dev/ptmx', 'r+')).close()
    return { name, state: 'good', found: 'kubectl run, attach, exec and debug work with -it' }
  } catch (error) {
    const remedy = 'let this user open /dev/ptmx: mount devpts at /dev/pts'
    const found = `none for kubectl -it: ${(error as Error).message}`
    return { name, state: 'degraded', found, remedy }
  }
}
