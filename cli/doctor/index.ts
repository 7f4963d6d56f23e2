import { styleText } from 'node:util'
import { apiServerOptions } from '../../apiserver/options.ts'
import { stateDirOption } from '../../cluster/state-directory.ts'
import { runtimeOption } from '../../kubelet/runtime-option.ts'
import { configOption } from '../../shared/config/resolve.ts'
import { command } from '../command.ts'
import { outputOption, printData } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { containerRuntime } from './container-runtime.ts'
import type { Finding } from './finding.ts'
import { containers, limits, networks, perl, program, rights, terminals } from './machine.ts'
import { machineKind } from './machine-kind.ts'
import { listening, stateFolder } from './place.ts'
import { podPorts } from './pod-ports.ts'
import { docker, kubectl } from './tools.ts'

export default command({
  purpose:
    'Says what this machine can do for Kubestage, and how to get the rest. Exit code 1 when a cluster cannot start.',
  options: {
    config: configOption,
    stateDir: stateDirOption,
    host: apiServerOptions.host,
    port: apiServerOptions.port,
    runtime: runtimeOption,
    output: outputOption,
  },
  async run({ values: { host, port, stateDir, runtime, output }, origins }) {
    const machine = machineKind()
    const looks = Promise.all([
      program(),
      perl(),
      containers(machine),
      networks(machine),
      rights(machine),
      limits(),
      terminals(),
      stateFolder(stateDir),
      listening({ host, port, isChosen: origins.port !== 'default', stateDir }),
      podPorts(stateDir),
      kubectl(),
      docker(),
    ])
    const all = Promise.all([looks, containerRuntime(runtime)]).then((found) => found.flat())
    const findings = await withProgress('Looking', all)
    if (output !== 'text') await printData(output, findings)
    else for (const finding of findings) print(finding)
    return findings.some(({ state }) => state === 'bad') ? 1 : 0
  },
})

const colours = { good: 'green', degraded: 'yellow', bad: 'red' } as const

function print({ name, state, found, remedy }: Finding): void {
  const mark = styleText(colours[state], state.padEnd(9), { stream: process.stdout })
  process.stdout.write(`${name.padEnd(11)} ${mark} ${found}\n${remedy ? `${' '.repeat(22)}${remedy}\n` : ''}`)
}
