import { meetGuardian } from '../cluster/guardian.ts'
import { version } from '../cluster/package.ts'
import { tellStarter } from '../cluster/supervisor/starter.ts'
import { checkDescriptor } from '../shared/concurrency/check-descriptor.ts'
import { endWith } from '../shared/concurrency/end-with.ts'
import { helpText } from '../shared/config/help.ts'
import { nearest } from '../shared/config/nearest.ts'
import { ConfigError, type Options, UsageError, variableOf, variablePrefix } from '../shared/config/option.ts'
import { resolveOptions } from '../shared/config/resolve.ts'
import { inOneSentence } from '../shared/config/system-errors.ts'
import { collectAlone } from '../shared/memory/collect-alone.ts'
import { builtIn, commands } from './commands.ts'
import { meetNpm } from './process/npm-shell.ts'

/** Runs the `kubestage` command and ends the process with its exit code. */
export async function main(): Promise<void> {
  // The reader of the output (`| head`) may end first; a cluster does not end for that.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    endWithLauncher()
    meetGuardian(process.env)
    meetNpm(process.env)
    process.exitCode = await run(process.argv.slice(2))
  } catch (error) {
    const known = error instanceof ConfigError ? error : inOneSentence(error as Error)
    const limits = known ? '' : (await import('../shared/limits/low-limits.ts')).lowLimits()
    const { message, stack = message } = known ?? (error as Error)
    const why = known || limits ? message + limits : stack
    process.stderr.write(`kubestage: ${why}\n`)
    process.exitCode = known?.exitCode ?? 1
    await tellStarter({ state: 'failed', why })
  }
  process.exit()
}

/** Resolves to whether a guardian has to start this command (docs/decisions/003). */
export async function wantsGuardian([name, ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  if (name !== 'up' || env.KUBESTAGE_GUARDIAN !== undefined) return false
  const { runsDurably } = await import('./cluster/wants-guardian.ts')
  return await runsDurably({ args, env, ...files })
}

async function run([name = 'help', ...args]: string[]): Promise<number> {
  if (name === 'help' && args[0] && !args[0].startsWith('-')) return run([args[0], '--help'])
  if (name === 'help' || name === '--help' || name === '-h') return print(overview())
  if (name === '--version' || name === '-v') return print(`kubestage ${version}\n`)
  if (name === 'completion') {
    const { complete } = await import('./completion.ts')
    return print(await complete({ commands, builtIn, env: process.env, ...files }, args))
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!entry) throw unknownCommand(name)
  if (entry.serves) collectAlone()
  const { default: command } = await entry.load()
  const resolved = await resolveOptions(command.options, {
    args,
    env: process.env,
    ...(command.ownFile ? {} : files),
    schemaCheck: () => import('../shared/config/schema-mistakes.ts'),
  })
  await warnOfVariables(command.options)
  if (resolved.help) return print(helpText({ name: `kubestage ${name}`, ...command }))
  if (resolved.positionals.length && !command.usage)
    throw new UsageError(`${name} takes no argument "${resolved.positionals[0]}"; see kubestage ${name} --help`)
  return await command.run(resolved)
}

const files = {
  defaultFile: 'kubestage.yaml',
  fileKeys: async (): Promise<Options> => (await import('./file-keys.ts')).fileKeys,
}

/** A mistyped variable would otherwise do nothing, silently. */
async function warnOfVariables(options: Options): Promise<void> {
  const given = Object.keys(process.env).filter((name) => name.startsWith(variablePrefix))
  const own = Object.keys(options).map(variableOf)
  if (given.every((name) => own.includes(name))) return
  const known = [...own, ...Object.keys(await files.fileKeys()).map(variableOf)]
  for (const name of given.filter((name) => !known.includes(name))) {
    const near = nearest(
      name.slice(variablePrefix.length),
      known.map((one) => one.slice(variablePrefix.length)),
    )
    if (near) process.stderr.write(`kubestage: unknown variable ${name}; did you mean ${variablePrefix}${near}?\n`)
  }
}

function overview(): string {
  const rows = [
    ...Object.entries(commands).map(([name, { summary }]) => [name, summary] as const),
    ...Object.entries(builtIn),
  ]
  return [
    'The stand-in Kubernetes: an API server and a kubelet that runs pods as real processes.\n',
    'Usage: kubestage COMMAND [flags]\n',
    ...rows.map(([name, summary]) => `  ${name.padEnd(15)} ${summary}`),
    '\nkubestage COMMAND --help lists the flags.\n',
  ].join('\n')
}

function unknownCommand(name: string): UsageError {
  if (name.startsWith('-'))
    return new UsageError(`flag ${name} given before a command; kubestage help lists all commands`)
  const near = nearest(name, [...Object.keys(commands), ...Object.keys(builtIn)])
  return new UsageError(`unknown command ${name}${near ? `; did you mean ${near}?` : ''} (kubestage help lists all)`)
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
  checkDescriptor('KUBESTAGE_LAUNCHER_FD', fd)
  endWith(Number(fd))
}
