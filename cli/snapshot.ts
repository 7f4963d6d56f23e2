import type { Snapshot } from '../apiserver/instruments/snapshot.ts'
import { UsageError } from '../shared/config/option.ts'
import { configOption } from '../shared/config/resolve.ts'
import { writePrivately } from '../shared/pki/files.ts'
import { askServer } from './ask-server.ts'
import { command } from './command.ts'
import { stateDirOption } from './state-directory.ts'

export default command({
  purpose: 'Writes all objects to a file, for kubestage restore: Secrets, too, so keep it to yourself.',
  usage: 'FILE',
  options: { config: configOption, stateDir: stateDirOption },
  notes: ['What machines say of themselves (nodes and their leases) is not in it.'],
  async run({ values: { stateDir }, positionals: [file, ...rest] }) {
    if (file === undefined || rest.length > 0) throw new UsageError('usage: kubestage snapshot FILE')
    const snapshot = await askServer<Snapshot>(stateDir, { path: '/kubestage/v1/snapshot' })
    writePrivately(file, `${JSON.stringify(snapshot)}\n`)
    process.stdout.write(`${snapshot.entries.length} objects in ${file}\n`)
    return 0
  },
})
