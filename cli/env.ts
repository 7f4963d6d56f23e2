import { existsSync } from 'node:fs'
import { ConfigError, option } from '../shared/config/option.ts'
import { oneOf } from '../shared/config/option-types.ts'
import { configOption } from '../shared/config/resolve.ts'
import { command } from './command.ts'
import { exportsFor } from './exports.ts'
import { stateDirectory, stateDirOption } from './state-directory.ts'

export default command({
  purpose: 'Prints the exports that point kubectl at the cluster, and let it say --reason: eval "$(kubestage env)".',
  options: {
    config: configOption,
    stateDir: stateDirOption,
    shell: option(oneOf('sh', 'fish'), { default: 'sh', help: 'Whose words to print; sh is bash and zsh, too' }),
  },
  notes: ['In fish: kubestage env --shell=fish | source'],
  async run({ values: { stateDir, shell } }) {
    const { kubeconfig } = stateDirectory(stateDir)
    if (!existsSync(kubeconfig))
      throw new ConfigError(
        `no cluster in ${stateDir}: start one with kubestage up, or name its folder with --state-dir`,
      )
    process.stdout.write(`${exportsFor(kubeconfig, shell).join('\n')}\n`)
    return 0
  },
})
