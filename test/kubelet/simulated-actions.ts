import type { ActionHandler } from '../../kubelet/actions/action.ts'
import type { Clock } from '../../shared/clock/clock.ts'

/** Commands run in the simulated container; requests answer at once. */
export const simulatedActions = (clock: Clock, say: (text: string) => void = () => {}): ActionHandler => ({
  async run(action, { runtime, containerId }, { env, headers, timeoutMs, signal }) {
    if (action.sleep) {
      await clock.sleep(action.sleep.seconds * 1000, { signal })
      return { outcome: 'success', output: '', message: '' }
    }
    if (action.httpGet) {
      say(`GET ${action.httpGet.path} ${JSON.stringify(headers ?? {})}`)
      return { outcome: 'success', output: '', message: '' }
    }
    const result = await runtime.execSync(containerId, { command: action.exec?.command ?? [], env, timeoutMs, signal })
    if (result.outcome === 'timeout') return { outcome: 'timeout', output: result.output, message: 'command timed out' }
    if (result.outcome !== 'exited') return { outcome: 'error', output: result.output, message: result.outcome }
    const message = `command exited with ${result.exitCode}`
    return {
      outcome: result.exitCode === 0 ? 'success' : 'failure',
      output: result.output,
      exitCode: result.exitCode,
      message,
    }
  },
})
