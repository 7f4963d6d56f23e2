import { realClock } from '../../shared/clock/real-clock.ts'
import { ConfigError } from '../../shared/config/option.ts'
import type { LockHolder } from '../../shared/files/lock.ts'

const stepMs = 20

/** Asks a process to end, and kills it after `timeoutMs`. Whether it ended in time. */
export async function endProcess(holder: LockHolder, timeoutMs: number): Promise<boolean> {
  signal(holder.pid, 'SIGTERM')
  const isStopped = await hasEnded(holder, timeoutMs)
  if (!isStopped) signal(holder.pid, 'SIGKILL')
  return isStopped
}

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
