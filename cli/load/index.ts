import { UsageError } from '../../shared/config/option.ts'
import { command } from '../command.ts'
import { loadOptions } from './options.ts'
import { parseTarget } from './target.ts'

const usage = 'svc/NAME'

export default command({
  purpose:
    'Sends requests to the pods of a Service as its clients would, adds what became of them to the record, and counts lost ones by pod.',
  usage,
  options: loadOptions,
  notes: [
    'svc/NAME follows the EndpointSlices of the Service; pod/NAME and deploy/NAME send to pods while they are Ready. docs/load.md says more.',
  ],
  async run({ values, positionals: [target, ...rest] }) {
    if (target === undefined || rest.length > 0) throw new UsageError(`usage: kubestage load ${usage}`)
    const name = parseTarget(target)
    const { runLoad } = await import('./run.ts')
    return await runLoad({ ...values, target: name })
  },
})
