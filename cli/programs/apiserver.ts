import { dirname, join } from 'node:path'
import { serverProgramOptions, startServerProgram } from '../../cluster/server-program.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { settle } from '../../shared/memory/settle.ts'
import { ensureControllersClient } from '../../shared/pki/cluster-pki.ts'
import { command } from '../command.ts'
import { untilStopped } from '../process/signals.ts'

const controllersFile = 'controllers.kubeconfig'

export default command({
  purpose:
    'Runs an API server alone: control loops and scheduler are kubestage controllers. It logs to standard output.',
  options: serverProgramOptions,
  notes: [
    `It also writes ${controllersFile}, for kubestage controllers, beside the administrator's kubeconfig.`,
    '',
    'Two API servers on one etcd; the second has the certificates of the first:',
    '  kubestage apiserver --storage etcd:http://127.0.0.1:2379',
    '  kubestage apiserver --storage etcd:http://127.0.0.1:2379 --port 6444 --kubeconfig .kubestage/second/kubeconfig',
  ],
  async run(resolved) {
    const { values } = resolved
    const { controlPlane, pki, writeUser } = await startServerProgram(resolved, {
      controllers: ['-*'],
      scheduler: false,
    })
    const stopping = untilStopped()
    const user = ensureControllersClient({ directory: values.certDir, nowMs: realClock.now() }, pki.ca)
    await writeUser(join(dirname(values.kubeconfig), controllersFile), user)
    settle(realClock)
    const { again } = await stopping
    return await Promise.race([controlPlane.close().then(() => 0), again.then(() => 130)])
  },
})
