import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Snapshot } from '../apiserver/instruments/snapshot.ts'
import { ConfigError, UsageError } from '../shared/config/option.ts'
import { configOption } from '../shared/config/resolve.ts'
import { writePrivately } from '../shared/pki/files.ts'
import { askServer } from './ask-server.ts'
import { command } from './command.ts'
import { outputOption, printData } from './output.ts'
import { stateDirOption } from './state-directory.ts'

export default command({
  purpose: 'Writes all objects to a file, for kubestage restore: Secrets, too, so keep it to yourself.',
  usage: 'FILE',
  options: { config: configOption, stateDir: stateDirOption, output: outputOption },
  notes: ['What machines say of themselves (nodes and their leases) is not in it.'],
  async run({ values: { stateDir, output }, positionals: [file, ...rest] }) {
    if (file === undefined || rest.length > 0) throw new UsageError('usage: kubestage snapshot FILE')
    const snapshot = await askServer<Snapshot>(stateDir, { path: '/kubestage/v1/snapshot' })
    checkFolder(file)
    writePrivately(file, `${JSON.stringify(snapshot)}\n`)
    const objects = snapshot.entries.length
    if (output !== 'text') await printData(output, { file, objects })
    else process.stdout.write(`${objects} objects in ${file}\n`)
    return 0
  },
})

function checkFolder(file: string): void {
  const folder = dirname(file)
  if (!existsSync(folder)) throw new ConfigError(`${file} cannot be written: there is no folder ${folder}`)
}
