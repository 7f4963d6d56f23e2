import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Snapshot } from '../../apiserver/storage/snapshot.ts'
import { ConfigError, UsageError } from '../../shared/config/option.ts'
import { writePrivately } from '../../shared/pki/files.ts'
import { askServer } from '../access/ask-server.ts'
import { clusterPlace } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { outputOption, printData } from '../terminal/output.ts'

export default command({
  purpose: 'Writes all objects to a file, for kubestage restore: Secrets, too, so keep it to yourself.',
  usage: 'FILE',
  options: { ...clusterPlace, output: outputOption },
  notes: ['What machines say of themselves (nodes and their leases) is not in it.'],
  async run({ values, positionals: [file, ...rest] }) {
    if (file === undefined || rest.length > 0) throw new UsageError('usage: kubestage snapshot FILE')
    const snapshot = await askServer<Snapshot>(values, { path: '/kubestage/v1/snapshot' })
    checkFolder(file)
    writePrivately(file, `${JSON.stringify(snapshot)}\n`)
    const objects = snapshot.entries.length
    if (values.output !== 'text') await printData(values.output, { file, objects })
    else process.stdout.write(`${objects} objects in ${file}\n`)
    return 0
  },
})

function checkFolder(file: string): void {
  const folder = dirname(file)
  if (!existsSync(folder)) throw new ConfigError(`${file} cannot be written: the folder ${folder} does not exist`)
}
