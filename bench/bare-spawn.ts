/**
 * The ceiling of "pods to Running": how many sleeping processes a small Node process starts, sixteen at a time, when it
 * does nothing else.
 */
import { spawn } from 'node:child_process'
import { realClock } from '../shared/clock/real-clock.ts'
import { sleeper } from './sample-pod.ts'

const [program = '', ...args] = sleeper
const count = Number(process.argv[2])
const children: ReturnType<typeof spawn>[] = []
const startedMs = realClock.monotonic()
async function worker(): Promise<void> {
  while (children.length < count) {
    const child = spawn(program, args, { detached: true, stdio: 'ignore' })
    children.push(child)
    await new Promise((resolve) => child.once('spawn', resolve))
  }
}
await Promise.all(Array.from({ length: 16 }, worker))
const perSecond = (count / (realClock.monotonic() - startedMs)) * 1000
for (const { pid } of children) if (pid) process.kill(-pid, 'SIGKILL')
process.send?.({ perSecond })
