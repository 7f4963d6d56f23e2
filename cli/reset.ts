import type { Restored } from '../apiserver/instruments/snapshot.ts'
import { configOption } from '../shared/config/resolve.ts'
import { askServer } from './ask-server.ts'
import { command } from './command.ts'
import { outputOption, printData } from './output.ts'
import { tellRestored } from './restore.ts'
import { stateDirOption } from './state-directory.ts'

export default command({
  purpose: 'Makes the cluster what it was when it was ready: objects, faults and journal. Pods end, nodes stay.',
  options: { config: configOption, stateDir: stateDirOption, output: outputOption },
  async run({ values: { stateDir, output } }) {
    const restored = await askServer<Restored>(stateDir, {
      method: 'POST',
      path: '/kubestage/v1/reset',
      doing: 'Resetting',
    })
    if (output !== 'text') await printData(output, restored)
    else tellRestored(restored)
    return 0
  },
})
