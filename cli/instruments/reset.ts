import type { Restored } from '../../apiserver/instruments/snapshot.ts'
import { askServer } from '../access/ask-server.ts'
import { clusterPlace } from '../access/cluster-access.ts'
import { command } from '../command.ts'
import { outputOption, printData } from '../terminal/output.ts'
import { tellRestored } from './restore.ts'
import { ofServer, thisServerOption } from './this-server.ts'

export default command({
  purpose: 'Makes the cluster what it was when it was ready: objects, faults and journal. Pods end, nodes stay.',
  options: { ...clusterPlace, thisServer: thisServerOption, output: outputOption },
  async run({ values }) {
    const restored = await askServer<Restored>(values, {
      method: 'POST',
      path: ofServer('/kubestage/v1/reset', values),
      doing: 'Resetting',
    })
    if (values.output !== 'text') await printData(values.output, restored)
    else tellRestored(restored)
    return 0
  },
})
