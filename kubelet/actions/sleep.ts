import type { SleepAction } from '../../shared/api/types.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import type { ActionOptions, ActionResult } from './action.ts'

/** Runs in the kubelet: no process, and no notice taken of the container's own end. */
export async function runSleep(
  action: SleepAction,
  { clock, signal }: ActionOptions & { clock: Clock },
): Promise<ActionResult> {
  try {
    await clock.sleep(action.seconds * 1000, { signal })
    return { outcome: 'success', output: '', message: '' }
  } catch {
    return { outcome: 'error', output: '', message: 'container terminated before sleep hook finished' }
  }
}
