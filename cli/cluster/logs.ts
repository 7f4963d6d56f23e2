import { closeSync, fstatSync, openSync, readSync, watch } from 'node:fs'
import { join } from 'node:path'
import { stateDirectory, stateDirOption } from '../../cluster/state-directory.ts'
import { ConfigError, option, UsageError } from '../../shared/config/option.ts'
import { flag, subdomain } from '../../shared/config/option-types.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { elsewhere, isThere, notOurs } from '../access/cluster-access.ts'
import { findRunning } from '../access/running.ts'
import { command } from '../command.ts'
import { unknownWord } from '../terminal/unknown-word.ts'

const programs = ['apiserver', 'kubelet', 'up', 'etcd'] as const

export default command({
  purpose: "Prints the log of one of the cluster's own programs; those of pods are printed by kubectl logs.",
  usage: `(${programs.join(' | ')})`,
  options: {
    config: configOption,
    stateDir: stateDirOption,
    node: option(subdomain, { default: '', help: 'kubelet: of this node; default: the first' }),
    follow: option(flag, { default: false, short: 'f', help: 'Go on with what is written from now on, until Ctrl-C' }),
  },
  complete: async ({ positionals }) => (positionals.length === 0 ? [...programs] : []),
  notes: [
    'up: output of a cluster started with --detach. etcd: of --storage etcd. The others are one JSON object a line.',
  ],
  async run({ values: { stateDir, node, follow }, positionals: [program = 'apiserver', ...rest] }) {
    if (rest.length > 0) throw new UsageError(`usage: kubestage logs (${programs.join(' | ')})`)
    if (!programs.some((known) => known === program)) throw unknownWord('logs', program, programs)
    if (node && program !== 'kubelet') throw new UsageError('--node is for kubestage logs kubelet')
    const file = logFile({ stateDir, program, node })
    if (!isThere(file) && elsewhere({ stateDir, kubeconfig: '' }))
      throw notOurs(stateDir, 'its log is where it was started, as with docker-compose logs')
    if (!isThere(file))
      throw new ConfigError(
        `${file} does not exist: the program has not run with state folder ${stateDir}; name another with --state-dir`,
      )
    const descriptor = openSync(file, 'r')
    copy(descriptor)
    if (!follow) {
      closeSync(descriptor)
      return 0
    }
    watch(file, () => copy(descriptor))
    return new Promise(() => {}) // until a signal ends us
  },
})

/** The first node's kubelet has its log beside the cluster's own. */
function logFile({ stateDir, program, node }: { stateDir: string; program: string; node: string }): string {
  const { logs } = stateDirectory(stateDir)
  const isFirst = node === '' || findRunning(stateDir).running?.node === node
  return isFirst ? join(logs, `${program}.log`) : join(logs, node, `${program}.log`)
}

/** Copies from the present place to the end. */
function copy(descriptor: number): void {
  const buffer = Buffer.alloc(Math.min(1 << 20, fstatSync(descriptor).size + 1))
  for (let read = readSync(descriptor, buffer); read > 0; read = readSync(descriptor, buffer)) {
    process.stdout.write(Buffer.from(buffer.subarray(0, read)))
  }
}
