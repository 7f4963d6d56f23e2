import type { ExecAction } from '../../shared/api/types.ts'
import type { ActionOptions, ActionResult, ActionTarget } from './action.ts'

/** What a probe keeps of its output (upstream's maxReadLength). */
const maxOutputBytes = 10 * 1024

/** A command beside the container's process. Upstream: pkg/probe/exec, pkg/kubelet/lifecycle/handlers.go. */
export async function runExec(action: ExecAction, target: ActionTarget, options: ActionOptions): Promise<ActionResult> {
  const command = action.command ?? []
  const result = await target.runtime.execSync(target.containerId, {
    command,
    env: options.env,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
    maxOutputBytes,
  })
  const { output } = result
  const words = command.join(' ')
  switch (result.outcome) {
    case 'failed':
      return { outcome: 'error', output, message: result.message }
    case 'timeout':
      return {
        outcome: 'timeout',
        output,
        message: `command timed out: "${words}" timed out after ${(options.timeoutMs ?? 0) / 1000}s`,
      }
    case 'exited':
      if (result.exitCode === 0) return { outcome: 'success', output, exitCode: 0, message: '' }
      return {
        outcome: 'failure',
        output,
        exitCode: result.exitCode,
        message: options.purpose === 'probe' ? output : `command '${words}' exited with ${result.exitCode}: ${output}`,
      }
  }
}
