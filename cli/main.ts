import { Socket } from 'node:net'
import { helpText } from '../shared/config/help.ts'
import { nearest } from '../shared/config/nearest.ts'
import { ConfigError } from '../shared/config/option.ts'
import { resolveOptions } from '../shared/config/resolve.ts'
import type { Command } from './command.ts'
import { version } from './package.ts'

interface Entry {
  summary: string
  load(): Promise<{ default: Command }>
}

const commands: Record<string, Entry> = {
  up: { summary: 'start a cluster: API server, controllers and a kubelet', load: () => import('./up.ts') },
  down: { summary: 'stop it', load: () => import('./down.ts') },
  status: { summary: 'what runs, since when, with how much memory', load: () => import('./status.ts') },
  env: { summary: 'print the exports that point kubectl at it', load: () => import('./env.ts') },
  logs: { summary: "print the log of one of the cluster's own programs", load: () => import('./logs.ts') },
  node: {
    summary: 'list nodes; put one under pressure, shut it down, lose it, get it back',
    load: () => import('./node.ts'),
  },
  config: { summary: 'print what up would go by, and where each value is from', load: () => import('./config.ts') },
  rehearse: {
    summary: 'let an application die in every way, and say how well it does',
    load: () => import('./rehearse.ts'),
  },
  snapshot: { summary: 'write all objects to a file', load: () => import('./snapshot.ts') },
  restore: { summary: 'make all objects what a file says', load: () => import('./restore.ts') },
  reset: { summary: 'make the cluster what it was at its start', load: () => import('./reset.ts') },
  journal: { summary: 'print the requests that came to the API server', load: () => import('./journal.ts') },
  fault: { summary: 'make requests fail on purpose', load: () => import('./fault.ts') },
  clock: { summary: "print the cluster's own time", load: () => import('./clock.ts') },
  'envtest-assets': {
    summary: "print a folder of programs for controller-runtime's envtest",
    load: () => import('./envtest-assets.ts'),
  },
  doctor: { summary: 'what this machine can do, and how to get the rest', load: () => import('./doctor.ts') },
  demo: { summary: 'watch a pod die for a reason, in ten seconds', load: () => import('./demo.ts') },
}

/** The `kubestage` command. Ends the process. */
export async function main(): Promise<void> {
  endWithLauncher()
  // Whoever read our output (`| head`) may leave before us; a cluster does not end for that.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    process.exitCode = await run(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`kubestage: ${error instanceof ConfigError ? error.message : (error as Error).stack}\n`)
    process.exitCode = 1
  }
  process.exit()
}

async function run([name = 'help', ...args]: string[]): Promise<number> {
  if (name === 'help' || name === '--help' || name === '-h') return print(overview())
  if (name === 'version' || name === '--version') return print(`kubestage ${version}\n`)
  if (name === 'completion') {
    const { complete, completionUsage } = await import('./completion.ts')
    return print(args.includes('--help') ? `${completionUsage}\n` : await complete(commands, args))
  }
  const entry = commands[name]
  if (!entry) throw unknownCommand(name)
  const { default: command } = await entry.load()
  const resolved = await resolveOptions(command.options, {
    args,
    env: process.env,
    defaultFile: 'kubestage.yaml',
    alsoInFile: async () => ({
      ...(await import('./cluster-options.ts')).clusterOptions,
      ...(await import('./rehearse/options.ts')).rehearseOptions,
    }),
  })
  if (resolved.help) return print(helpText({ name: `kubestage ${name}`, ...command }))
  if (resolved.positionals.length && !command.usage)
    throw new ConfigError(`${name} takes no argument "${resolved.positionals[0]}"; see kubestage ${name} --help`)
  return await command.run(resolved)
}

function overview(): string {
  const rows = {
    ...commands,
    completion: { summary: 'print what completes words in a shell' },
    version: { summary: 'print the version' },
    help: { summary: 'print this' },
  }
  return [
    'The stand-in Kubernetes: an API server and a kubelet that runs pods as real processes.\n',
    'Usage: kubestage COMMAND [flags]\n',
    ...Object.entries(rows).map(([name, { summary }]) => `  ${name.padEnd(15)} ${summary}`),
    '\nkubestage COMMAND --help lists the flags.\n',
  ].join('\n')
}

function unknownCommand(name: string): ConfigError {
  const near = nearest(name, [...Object.keys(commands), 'completion', 'version', 'help'])
  return new ConfigError(`unknown command ${name}${near ? `; did you mean ${near}?` : ''} (kubestage help lists all)`)
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/** An older Node started us (bin/kubestage.mjs) and holds the other end of this pipe: when it is killed, so are we. */
function endWithLauncher(): void {
  const { KUBESTAGE_LAUNCHER_FD: fd } = process.env
  if (fd === undefined) return
  delete process.env.KUBESTAGE_LAUNCHER_FD
  new Socket({ fd: Number(fd), readable: true, writable: false })
    .on('close', () => process.exit(137))
    .on('error', () => process.exit(137))
    .resume()
    .unref()
}
