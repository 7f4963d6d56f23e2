import type { Restored } from '../../apiserver/instruments/snapshot.ts'
import { readNamedFile } from '../../shared/config/named-file.ts'
import { UsageError } from '../../shared/config/option.ts'
import { askServer } from '../access/ask-server.ts'
import { clusterPlace } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { outputOption, printData } from '../terminal/output.ts'

export default command({
  purpose: 'Makes all objects what a snapshot says: what differs is written, what was not there is deleted.',
  usage: 'FILE',
  options: { ...clusterPlace, output: outputOption },
  async run({ values, positionals: [file, ...rest] }) {
    if (file === undefined || rest.length > 0) throw new UsageError('usage: kubestage restore FILE')
    const body = readSnapshot(file)
    const restored = await askServer<Restored>(values, {
      method: 'PUT',
      path: '/kubestage/v1/snapshot',
      body,
      doing: 'Restoring',
    })
    if (values.output !== 'text') await printData(values.output, restored)
    else tellRestored(restored)
    return 0
  },
})

export function tellRestored({ created, changed, deleted }: Restored): void {
  process.stdout.write(`${created} objects created, ${changed} changed, ${deleted} deleted\n`)
}

function readSnapshot(file: string): unknown {
  const text = readNamedFile(file)
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${file} is not a valid snapshot; kubestage snapshot FILE makes one`)
  }
}
