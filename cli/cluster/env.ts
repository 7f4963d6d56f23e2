import { resolve } from 'node:path'
import { stateDirectory } from '../../cluster/state-directory.ts'
import { option, UsageError } from '../../shared/config/option.ts'
import { oneOf } from '../../shared/config/option-types.ts'
import { clusterPlace, elsewhere, isThere, noClusterRuns } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { exportsFor } from './exports.ts'

export default command({
  purpose:
    'Prints the exports that point kubectl at the cluster, let it say --reason, and put kubestage on the PATH: eval "$(kubestage env)".',
  options: {
    ...clusterPlace,
    shell: option(oneOf('sh', 'fish'), { default: 'sh', help: 'Shell to print for; sh includes bash and zsh' }),
  },
  notes: [
    'Afterwards kubestage is a command of this shell, which is quicker than npx kubestage.',
    'In fish: kubestage env --shell=fish | source',
  ],
  async run({ values }) {
    const kubeconfig = resolve(elsewhere(values) ?? stateDirectory(values.stateDir).kubeconfig)
    if (!isThere(kubeconfig))
      throw values.kubeconfig ? new UsageError(`${kubeconfig}: no such file`) : noClusterRuns(values)
    process.stdout.write(`${exportsFor(kubeconfig, values.shell).join('\n')}\n`)
    return 0
  },
})
