import { configOption } from '../shared/config/resolve.ts'
import { command } from './command.ts'
import { runDemo } from './demo/run-demo.ts'

export default command({
  purpose: 'Runs a pod on a cluster of its own, deletes it for a reason, and shows what its hooks are told.',
  options: { config: configOption },
  notes: ['Ends within a minute. Exit code 1 when the hooks were not told: then it prints what it saw of the pod.'],
  run: async () => ((await runDemo()) ? 0 : 1),
})
