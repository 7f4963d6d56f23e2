import path from 'node:path'
import { quote } from './shell.ts'

/** How a process is started beside or instead of a plain exec. */
export type Namespaces =
  | { kind: 'none' }
  /** A PID namespace of its own, in which it is process 1, and its own `/proc`. */
  | { kind: 'new' }
  /** Its own view of the files, made by `container.pl`, which these words tell how. They include all that follows the namespaces. */
  | { kind: 'view'; words: string[] }
  /** Those of a running process: its processes, its view of the files, or both. */
  | { kind: 'enter'; pid: number; processes: boolean; files: boolean }

export interface Launch {
  command: string[]
  /** All of it: nothing of ours is added. */
  env: Record<string, string>
  workingDir: string
  /** The pipe that is its stdin; an empty file without. One that is not `made` is made here, and opened when somebody writes. */
  input?: { pipe: string; made: boolean }
  /** Takes stdout, and stderr in the order in which they were written unless that has `errors`. Without, all three are a terminal already. */
  output?: string
  errors?: string
  namespaces: Namespaces
}

/** The text that the shim sources in the process to be: it ends in exec. */
export function launchScript(launch: Launch): string {
  const { namespaces, workingDir } = launch
  const isThere = namespaces.kind !== 'view' && !(namespaces.kind === 'enter' && namespaces.files)
  return [
    ...redirections(launch),
    `cd -- ${quote(isThere ? workingDir : '/')} || exit 126`,
    'umask 022',
    `exec -c -- ${words(launch).map(quote).join(' ')}`,
    '',
  ].join('\n')
}

function redirections({ input, output, errors }: Launch): string[] {
  if (output === undefined) return []
  const making = input && !input.made ? [`mkfifo -m 600 -- ${quote(input.pipe)} || exit 126`] : []
  const outputs = `>${quote(output)} 2>${errors === undefined ? '&1' : quote(errors)}`
  return [...making, `exec <${quote(input?.pipe ?? '/dev/null')} ${outputs}`]
}

function words({ namespaces, command, env, workingDir, output }: Launch): string[] {
  const cleared = ['/usr/bin/env', '-i']
  const program = [...variables(env), ...command]
  switch (namespaces.kind) {
    case 'none':
      return [...cleared, ...program]
    case 'new':
      return [...newNamespaces, ...cleared, ...program]
    case 'view':
      return [perl, containerScript, ...namespaces.words]
    case 'enter': {
      const { pid, processes, files } = namespaces
      const enter = ['/usr/bin/nsenter', `--target=${pid}`, '--mount', ...(processes ? ['--pid'] : [])]
      const session = output === undefined ? ownSession : []
      return files
        ? [...enter, '--uts', '--root', '--', ...session, ...cleared, `--chdir=${workingDir}`, ...program]
        : [...enter, `--wd=${workingDir}`, '--', ...session, ...cleared, ...program]
    }
  }
}

export const variables = (env: Record<string, string>): string[] =>
  Object.entries(env).map(([name, value]) => `${name}=${value}`)

export const perl = '/usr/bin/perl'
export const containerScript = path.join(import.meta.dirname, 'container.pl')

/**
 * Starts a command as process 1 of a PID namespace, with a `/proc` of its own. The shell in between waits for it and ends as it did;
 * `unshare --fork` would do the same, but takes a command that was killed for an error of its own. What the shell has to say of that
 * is not for the log.
 */
export const newNamespaces = [
  '/usr/bin/unshare',
  '--pid',
  '--',
  '/bin/sh',
  '-c',
  'exec 3>&2 2>/dev/null; (exec "$@" 2>&3 3>&-); exit $?',
  'sh',
  '/usr/bin/unshare',
  '--mount-proc',
  '--',
]
/** On a terminal: a shell there has to find its process group in its own namespace. */
const ownSession = ['/usr/bin/setsid', '--ctty']
/** What runs before the program does. */
export const launchers = ['/usr/bin/unshare', '/bin/sh', '/usr/bin/env', perl]
