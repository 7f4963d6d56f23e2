import { apiServerOptions } from '../apiserver/options.ts'
import { version } from '../cluster/package.ts'
import { command } from './command.ts'
import { outputOption, printData } from './terminal/output.ts'

export default command({
  purpose: 'Prints the versions of Kubestage, of Kubernetes as it answers, and of the Node that runs it.',
  options: { output: outputOption },
  async run({ values: { output } }) {
    const versions = {
      kubestage: version,
      kubernetes: apiServerOptions.kubernetesVersion.default,
      node: process.version,
    }
    if (output !== 'text') await printData(output, versions)
    else process.stdout.write(`kubestage ${version} (Kubernetes ${versions.kubernetes}, Node ${versions.node})\n`)
    return 0
  },
})
