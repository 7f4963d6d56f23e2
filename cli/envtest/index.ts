import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { packageRoot, version } from '../../cluster/package.ts'
import { option } from '../../shared/config/option.ts'
import { path } from '../../shared/config/option-types.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { inOneSentence } from '../../shared/config/system-errors.ts'
import { command } from '../command.ts'
import { writeAssets } from './assets.ts'

/** Identifies this installation, run by this Node. */
const identity = createHash('sha256').update(`${packageRoot}\n${process.execPath}`).digest('hex').slice(0, 8)
const defaultFolder = join(homedir(), '.cache', 'kubestage', 'envtest', `${version}-${identity}`)

export default command({
  purpose:
    'Prints a folder with programs that controller-runtime\'s envtest starts instead of etcd and kube-apiserver: KUBEBUILDER_ASSETS="$(kubestage envtest-assets)".',
  options: {
    config: configOption,
    assetsDir: option(path, {
      default: '',
      help: 'Where to put them; by default ~/.cache/kubestage/envtest, by version',
    }),
  },
  notes: ["The rest is envtest's own business: ports, certificates and users are the ones it chooses."],
  async run({ values: { assetsDir: chosen } }) {
    const folder = chosen || defaultFolder
    const program = join(packageRoot, 'bin', 'kubestage-envtest.mjs')
    try {
      writeAssets({ folder, node: process.execPath, program })
    } catch (error) {
      const remedy = 'choose another folder with --assets-dir'
      throw inOneSentence(error as Error, { place: `cannot write to ${folder}`, remedy }) ?? error
    }
    process.stdout.write(`${folder}\n`)
    return 0
  },
})
