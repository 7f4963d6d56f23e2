import { existsSync, realpathSync } from 'node:fs'
import { launchers } from './launch-script.ts'
import { marker, markerOf } from './marker.ts'
import { childOf, programOf } from './proc-files.ts'

/** The process that is the program, given the one that made its namespaces. Undefined while it is being prepared. */
export function runningProgram(
  jobPid: number,
  { id, isolated }: { id: string; isolated: boolean },
  runtimeRoot: string,
): number | undefined {
  const pid = isolated ? childOf(jobPid) : jobPid
  return pid !== undefined && isProgram(pid, marker(runtimeRoot, id)) ? pid : undefined
}

/** Its mark tells; a program that writes its title over its environment is known by not being one of those that we put before it. */
function isProgram(pid: number, mark: string): boolean {
  const program = programOf(pid)
  if (program === undefined) return false
  return markerOf(pid) === mark || !launcherFiles().includes(program)
}

/** Their real paths: `/bin/sh` is mostly another's name. */
let realLaunchers: string[] | undefined
function launcherFiles(): string[] {
  realLaunchers ??= launchers.filter((file) => existsSync(file)).map((file) => realpathSync(file))
  return realLaunchers
}
