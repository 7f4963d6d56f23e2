import { readFileSync } from 'node:fs'
import type { Restored } from '../apiserver/instruments/snapshot.ts'
import { ConfigError, UsageError } from '../shared/config/option.ts'
import { configOption } from '../shared/config/resolve.ts'
import { askServer } from './ask-server.ts'
import { command } from './command.ts'
import { outputOption, printData } from './output.ts'
import { stateDirOption } from './state-directory.ts'

export default command({
  purpose: 'Makes all objects what a snapshot says: what differs is written, what was not there is deleted.',
  usage: 'FILE',
  options: { config: configOption, stateDir: stateDirOption, output: outputOption },
  async run({ values: { stateDir, output }, positionals: [file, ...rest] }) {
    if (file === undefined || rest.length > 0) throw new UsageError('usage: kubestage restore FILE')
    const body = readSnapshot(file)
    const restored = await askServer<Restored>(stateDir, {
      method: 'PUT',
      path: '/kubestage/v1/snapshot',
      body,
      doing: 'Restoring',
    })
    if (output !== 'text') await printData(output, restored)
    else tellRestored(restored)
    return 0
  },
})

export function tellRestored({ created, changed, deleted }: Restored): void {
  process.stdout.write(`${created} objects created, ${changed} changed, ${deleted} deleted\n`)
}

function readSnapshot(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new ConfigError(`${file} is no snapshot, or damaged; kubestage snapshot FILE makes one`)
    throw error
  }
}
