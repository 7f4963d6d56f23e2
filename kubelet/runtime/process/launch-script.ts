import { quote } from './shell.ts'

/** How a process is started beside or instead of a plain exec. */
export type Namespaces =
  | { kind: 'none' }
  /** A PID namespace of its own, in which it is process 1, and its own `/proc`. */
  | { kind: 'new' }
  /** Those of a running process. */
  | { kind: 'enter'; pid: number }

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
  const { command, env, workingDir } = launch
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const words = [...prefix(launch), '/usr/bin/env', ...separator(variables), ...command]
  return [
    ...redirections(launch),
    `cd -- ${quote(workingDir)} || exit 126`,
    'umask 022',
    `exec -c -- ${words.map(quote).join(' ')}`,
    '',
  ].join('\n')
}

function redirections({ input, output, errors }: Launch): string[] {
  if (output === undefined) return []
  const making = input && !input.made ? [`mkfifo -m 600 -- ${quote(input.pipe)} || exit 126`] : []
  const outputs = `>${quote(output)} 2>${errors === undefined ? '&1' : quote(errors)}`
  return [...making, `exec <${quote(input?.pipe ?? '/dev/null')} ${outputs}`]
}

/** `env` takes a leading word with `=` for a variable and one with a dash for an option. */
const separator = (variables: string[]): string[] => ['-i', ...variables]

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
export const launchers = ['/usr/bin/unshare', '/bin/sh', '/usr/bin/env']

function prefix({ namespaces, workingDir, output }: Launch): string[] {
  switch (namespaces.kind) {
    case 'none':
      return []
    case 'new':
      return newNamespaces
    case 'enter':
      return [
        '/usr/bin/nsenter',
        `--target=${namespaces.pid}`,
        '--pid',
        '--mount',
        `--wd=${workingDir}`,
        '--',
        ...(output ? [] : ownSession),
      ]
  }
}
