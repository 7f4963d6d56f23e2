import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../shared/config/option.ts'
import { configOption } from '../shared/config/resolve.ts'
import { command } from './command.ts'
import { packageRoot } from './package.ts'
import { shellWord } from './shell-word.ts'
import { stateDirectory, stateDirOption } from './state-directory.ts'

/** Our kubectl, which knows --reason, and the plugin; both call the user's own. */
const kubectlFolder = join(packageRoot, 'bin', 'kubestage-kubectl')

export default command({
  purpose: 'Prints the exports that point kubectl at the cluster, and let it say --reason: eval "$(kubestage env)".',
  options: { config: configOption, stateDir: stateDirOption },
  async run({ values: { stateDir } }) {
    const { kubeconfig } = stateDirectory(stateDir)
    if (!existsSync(kubeconfig))
      throw new ConfigError(
        `no cluster in ${stateDir}: start one with kubestage up, or name its folder with --state-dir`,
      )
    process.stdout.write(
      `export KUBECONFIG=${shellWord(kubeconfig)}\nexport PATH=${shellWord(kubectlFolder)}:"$PATH"\n`,
    )
    return 0
  },
})
