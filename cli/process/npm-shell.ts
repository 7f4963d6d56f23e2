import { realClock } from '../../shared/clock/real-clock.ts'
import { processFields, textOf } from '../../shared/files/readable.ts'

const betweenMs = 500
/** This process, its launcher or its guardian, and npm's shell. */
const generations = 3

/**
 * npm, which runs `npx kubestage` and scripts by a shell, tells that shell to end, and not what the shell runs. Calls
 * `end` when the shell has ended, or npm has. Does nothing for a script that starts programs in the background.
 */
export function whenNpmEnds(end: () => void): void {
  const known = shell
  if (known === undefined) return
  const watch = (): void => {
    const now = processOf(known.pid)
    if (now?.parent === known.parent && now.startTime === known.startTime) look()
    else end()
  }
  const look = (): void => void realClock.setTimer(betweenMs, watch, { background: true })
  watch()
}

interface Running {
  pid: number
  parent: number
  startTime: string
}

let shell: Running | undefined

/**
 * Finds npm's shell, while it runs. Takes npm's variable out of the environment: a cluster in the background, which
 * this process may start, outlives npm.
 */
export function meetNpm(env: NodeJS.ProcessEnv): void {
  const { npm_lifecycle_script: script } = env
  delete env.npm_lifecycle_script
  if (script !== undefined) shell = npmShell(script)
}

function npmShell(script: string): Running | undefined {
  if (!script || /(^|[^&])&($|[^&])/.test(script)) return undefined
  let found = processOf(process.pid)
  for (let generation = 0; found && generation < generations; generation++) {
    found = processOf(found.parent)
    const [, flag, text = ''] = found ? textOf(`/proc/${found.pid}/cmdline`).split('\0') : []
    if (found && flag === '-c' && text.replaceAll("'", '').startsWith(script.replaceAll("'", ''))) return found
  }
  return undefined
}

function processOf(pid: number): Running | undefined {
  const fields = processFields(pid)
  const [state, parent, startTime] = [fields[0], Number(fields[1]), fields[19]]
  return startTime === undefined || state === 'Z' ? undefined : { pid, parent, startTime }
}
