/** What every runtime promises, of the real one and of the simulated one. */
import { createSimulatedRuntime } from '../../../kubelet/runtime/simulated.ts'
import { realClock } from '../../../shared/clock/real-clock.ts'
import { until } from '../../harness/until.ts'
import { startNode, texts } from './runtime-node.ts'
import { programs, runtimeSuite } from './suite.ts'

runtimeSuite('process', async (t) => ({
  ...(await startNode(t)),
  ignoresTerm: ({ logPath }) => until(() => texts(logPath).includes('ready'), { what: 'TERM to be ignored' }),
}))

runtimeSuite('simulated', async (t) => {
  const runtime = createSimulatedRuntime({
    clock: realClock,
    behaviour: ({ command }) => {
      if (command === programs.ends) return { exitAfterMs: 1, exitCode: 3 }
      if (command === programs.ignoresTerm) return { onTerm: 'ignore' }
      return command === programs.cannotStart ? { startError: 'no such file or directory' } : {}
    },
    exec: (_container, command) => (command === programs.ends ? { exitCode: 3 } : { durationMs: 1_000_000 }),
  })
  t.teardown(() => runtime.close())
  return { runtime, rootDir: '/none', ignoresTerm: async () => {} }
})
