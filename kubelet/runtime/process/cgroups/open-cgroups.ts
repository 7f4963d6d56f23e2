import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { whyRefused } from '../../../../shared/config/system-errors.ts'
import { Cgroups, enable, isRemoved } from './cgroups.ts'
import { type Controller, type Hierarchies, hierarchies } from './hierarchies.ts'

/**
 * Finds a place for the control groups of a node, by trial: groups can be made there, and processes can enter them.
 * Their name is that of the folder `root`. Resolves to the reason where there is none.
 */
export async function openCgroups(
  root: string,
  { versions = [1, 2] }: { versions?: readonly number[] } = {},
): Promise<Cgroups | string> {
  const found = process.platform === 'linux' ? readHierarchies() : undefined
  if (!found) return 'this system has no control groups of memory'
  if (!versions.includes(found.version)) return `control groups are of version ${found.version}`
  const name = `kubestage-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`
  let why = ''
  for (const candidate of found.candidates) {
    const result = await tried(candidate, found, name).catch((error: Error) => whyRefused(error))
    if (typeof result !== 'string') return result
    why ||= result
  }
  return why
}

function readHierarchies(): Hierarchies | undefined {
  try {
    return hierarchies(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'))
  } catch {
    return undefined
  }
}

async function tried(
  candidate: ReadonlyMap<Controller, string>,
  { version }: Hierarchies,
  name: string,
): Promise<Cgroups | string> {
  const usable = version === 1 ? candidate : enabledIn(candidate)
  if (!usable.has('memory')) return `${candidate.get('memory')} does not let us limit memory`
  const cgroups = new Cgroups({
    version,
    folders: new Map([...usable].map(([controller, folder]) => [controller, path.join(folder, name)])),
  })
  cgroups.prepare()
  const trials = cgroups.roots().map((root) => path.join(root, `trial-${process.pid}`))
  for (const folder of trials) mkdirSync(folder)
  const problem = await whyNotEntered(trials.map((folder) => path.join(folder, 'cgroup.procs')))
  trials.forEach(isRemoved)
  if (!problem) return cgroups
  cgroups.remove()
  return problem
}

/** Returns the controllers that groups within the folder may have, and enables those that are not. */
function enabledIn(candidate: ReadonlyMap<Controller, string>): ReadonlyMap<Controller, string> {
  return new Map(
    [...candidate].filter(([controller, folder]) => {
      try {
        enable(folder, [controller])
        return true
      } catch {
        return false
      }
    }),
  )
}

const whyNotEntered = (files: readonly string[]): Promise<string | undefined> =>
  new Promise((resolve) => {
    const script = 'for file; do echo 0 >"$file" || exit 1; done'
    execFile('/bin/sh', ['-c', script, 'sh', ...files], (error, _, said) =>
      resolve(error ? said.trim() || String(error) : undefined),
    )
  })
