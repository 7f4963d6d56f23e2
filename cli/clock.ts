import { configOption } from '../shared/config/resolve.ts'
import { askServer } from './ask-server.ts'
import { command } from './command.ts'
import { outputOption, printData } from './output.ts'
import { stateDirOption } from './state-directory.ts'

export default command({
  purpose: "Prints the cluster's own time, which with --time-scale runs faster than the machine's.",
  options: { config: configOption, stateDir: stateDirOption, output: outputOption },
  async run({ values: { stateDir, output } }) {
    const time = await askServer<{ now: string; scale: number }>(stateDir, { path: '/kubestage/v1/clock' })
    if (output !== 'text') await printData(output, time)
    else
      process.stdout.write(`${time.now}${time.scale === 1 ? '' : ` (${time.scale} times as fast as the machine's)`}\n`)
    return 0
  },
})
