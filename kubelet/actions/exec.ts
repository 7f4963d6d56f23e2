import type { ExecAction } from '../../shared/api/types.ts'
import type { ActionOptions, ActionResult, ActionTarget } from './action.ts'

/** Output beyond this size is cut: upstream's maxReadLength for a probe, what a termination record shows for a hook. */
const maxOutputBytes = { probe: 10 * 1024, hook: 8 * 1024 }

/** Runs a command beside the container's process. Upstream: pkg/probe/exec, pkg/kubelet/lifecycle/handlers.go. */
export async function runExec(action: ExecAction, target: ActionTarget, options: ActionOptions): Promise<ActionResult> {
  const command = action.command ?? []
  const result = await target.runtime.execSync(target.containerId, {
    command,
    env: options.env,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
    maxOutputBytes: maxOutputBytes[options.purpose],
    separateErrors: options.purpose === 'hook',
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
        message:
          options.purpose === 'probe'
            ? output
            : `command '${words}' exited with ${result.exitCode}: ${result.errors ?? output}`,
      }
  }
}
