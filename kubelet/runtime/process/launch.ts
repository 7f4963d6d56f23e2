import path from 'node:path'
import type { Step } from './container-view.ts'
import { systemCalls } from './system-calls.ts'

/** A process to be started. */
export interface Launch {
  command: string[]
  /** All of it: nothing of ours is added. */
  env: Record<string, string>
  workingDir: string
  namespaces: Namespaces
}

/** Where a process is started. */
export type Namespaces =
  | { kind: 'none' }
  /** In new ones, by their flags, with these steps to set them up; and beside a process, in its PID namespace. */
  | { kind: 'new'; flags: number; besidePid?: number; steps: Step[] }
  /** Those of a running process: its processes, its view of the files, or both. */
  | { kind: 'enter'; pid: number; processes: boolean; files: boolean }

/** What the shim needs of it. */
export function shimLaunch(launch: Launch): { namespaceFlags: number; besidePid?: number; steps: string[] } {
  const { namespaces } = launch
  switch (namespaces.kind) {
    case 'none':
      return { namespaceFlags: 0, steps: words(program(launch)) }
    case 'new': {
      const { flags, besidePid, steps } = namespaces
      return { namespaceFlags: flags, besidePid, steps: words([...steps, ...program(launch)]) }
    }
    case 'enter': {
      const { pid, processes } = namespaces
      const steps = words([enter(namespaces), ...program(launch)])
      return { namespaceFlags: 0, ...(processes && { besidePid: pid }), steps }
    }
  }
}

/** For a process of ours on a terminal: the program and its words that do the same without the shim. */
export function terminalLaunch(launch: Launch): { file: string; args: string[] } {
  const { namespaces } = launch
  const entering: Step[] =
    namespaces.kind === 'enter' ? [enter(namespaces, namespaces.processes ? ['pid'] : []), ['fork'], ['session']] : []
  return aloneLaunch([...entering, ...program(launch)])
}

/** Steps taken by `container.pl` as a program. */
export const aloneLaunch = (steps: Step[]): { file: string; args: string[] } => ({
  file: perl,
  args: [containerScript, ...words([['calls', ...systemCalls()], ...steps])],
})

export const perl = 'perl'
export const containerScript = path.join(import.meta.dirname, 'container.pl')

const enter = ({ pid, files }: { pid: number; files: boolean }, more: string[] = []): Step => [
  'enter',
  String(pid),
  ...more,
  'mnt',
  ...(files ? ['uts', 'root'] : []),
]

const program = ({ command, env, workingDir }: Launch): Step[] => [
  ['within', workingDir],
  ['environment', ...variables(env)],
  ['run', ...command],
]

const words = (steps: Step[]): string[] => steps.flatMap(([name, ...words]) => [name, String(words.length), ...words])

const variables = (env: Record<string, string>): string[] =>
  Object.entries(env).map(([name, value]) => `${name}=${value}`)
