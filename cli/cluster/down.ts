import { stateDirOption } from '../../cluster/state-directory.ts'
import { option } from '../../shared/config/option.ts'
import { duration } from '../../shared/config/option-types.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { elsewhere, notOurs } from '../access/cluster-access.ts'
import { findRunning } from '../access/running.ts'
import { command } from '../command.ts'
import { endProcess } from '../process/end-process.ts'
import { withProgress } from '../terminal/progress.ts'

export default command({
  purpose: 'Stops the cluster: pods end first, with their grace. Does nothing where none runs.',
  options: {
    config: configOption,
    stateDir: stateDirOption,
    timeout: option(duration, { default: 60_000, help: 'After this it is killed, and all its processes with it' }),
  },
  async run({ values: { stateDir, timeout } }) {
    const { root: holder } = findRunning(stateDir)
    if (holder === undefined && elsewhere({ stateDir, kubeconfig: '' }))
      throw notOurs(stateDir, 'stop it where it was started, as with docker-compose stop')
    if (holder === undefined) {
      process.stdout.write(`Nothing runs in ${stateDir}.\n`)
      return 0
    }
    const isStopped = await withProgress('Stopping: pods end first', endProcess(holder, timeout))
    process.stdout.write(isStopped ? 'Stopped.\n' : 'Killed: it took too long to stop.\n')
    return isStopped ? 0 : 1
  },
})
