import type { LockHolder } from '../cluster/lock.ts'
import { stateDirOption } from '../cluster/state-directory.ts'
import { realClock } from '../shared/clock/real-clock.ts'
import { ConfigError, option } from '../shared/config/option.ts'
import { duration } from '../shared/config/option-types.ts'
import { configOption } from '../shared/config/resolve.ts'
import { elsewhere, notOurs } from './cluster-access.ts'
import { command } from './command.ts'
import { withProgress } from './progress.ts'
import { findRunning } from './running.ts'

const stepMs = 20

export default command({
  purpose: 'Stops the cluster: pods end first, with their grace. Does nothing where none runs.',
  options: {
    config: configOption,
    stateDir: stateDirOption,
    timeout: option(duration, { default: 60_000, help: 'After this it is killed, and all its processes with it' }),
  },
  async run({ values: { stateDir, timeout } }) {
    const { root: holder } = findRunning(stateDir)
    if (holder === undefined && elsewhere({ stateDir, kubeconfig: '' }))
      throw notOurs(stateDir, 'stop it where it was started, as with docker-compose stop')
    if (holder === undefined) {
      process.stdout.write(`Nothing runs in ${stateDir}.\n`)
      return 0
    }
    signal(holder.pid, 'SIGTERM')
    const isStopped = await withProgress('Stopping: pods end first', hasEnded(holder, timeout))
    if (!isStopped) signal(holder.pid, 'SIGKILL')
    process.stdout.write(isStopped ? 'Stopped.\n' : 'Killed: it took too long to stop.\n')
    return isStopped ? 0 : 1
  },
})

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EPERM')
      throw new ConfigError(`process ${pid}, which runs the cluster, is another user's: ask them, or use sudo`)
    if (code !== 'ESRCH') throw error
  }
}

async function hasEnded(holder: LockHolder, timeoutMs: number): Promise<boolean> {
  const deadline = realClock.monotonic() + timeoutMs
  while (holder.isAlive()) {
    if (realClock.monotonic() > deadline) return false
    await realClock.sleep(stepMs)
  }
  return true
}
