import { serverProgramOptions, startServerProgram } from '../cluster/server-program.ts'
// An API server with its controllers and nothing else: `kubestage up --kubelet=false` without a state folder of its
// own.
import { realClock } from '../shared/clock/real-clock.ts'
import { electionOptions } from '../shared/config/election-options.ts'
import { helpText, type Program } from '../shared/config/help.ts'
import { loopOptions } from '../shared/config/loop-options.ts'
import { ConfigError, option } from '../shared/config/option.ts'
import { flag } from '../shared/config/option-types.ts'
import { resolveOptions } from '../shared/config/resolve.ts'
import { collectAlone } from '../shared/memory/collect-alone.ts'
import { settle } from '../shared/memory/settle.ts'
import { apiServerOptions } from './options.ts'

const program = {
  name: 'node apiserver/main.ts',
  purpose: 'Starts an API server with its controllers. It logs to standard output.',
  options: {
    ...serverProgramOptions,
    controllers: apiServerOptions.controllers,
    ...loopOptions,
    clusterCidr: apiServerOptions.clusterCidr,
    scheduler: option(flag, { default: true, help: 'Run the scheduler; without it pods stay Pending' }),
    ...electionOptions,
  },
} satisfies Program

async function main(): Promise<void> {
  const resolved = await resolveOptions(program.options, { args: process.argv.slice(2), env: process.env })
  if (resolved.help) return void process.stdout.write(helpText(program))
  collectAlone()
  const { controlPlane } = await startServerProgram(resolved, resolved.values)
  settle(realClock)
  const stop = (): void => void controlPlane.close().then(() => process.exit(0))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
}

main().catch((error: unknown) => {
  process.stderr.write(`apiserver: ${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
  process.exit(error instanceof ConfigError ? error.exitCode : 1)
})
