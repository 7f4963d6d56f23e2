import { configOption } from '../../shared/config/resolve.ts'
import { command } from '../command.ts'
import { runDemo } from './run-demo.ts'

export default command({
  purpose: 'Runs a pod on a cluster of its own, deletes it for a reason, and shows the reason in its hooks.',
  options: { config: configOption },
  notes: [
    'Ends within a minute. Exit code 1 when the hooks did not get the reason: then it prints the state of the pod.',
  ],
  run: async () => ((await runDemo()) ? 0 : 1),
})
