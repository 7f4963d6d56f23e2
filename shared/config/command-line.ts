import { nearest } from './nearest.ts'
import { flagOf, type Options, UsageError } from './option.ts'

export interface CommandLine {
  /** Maps option names to the values of the flags. */
  values: Record<string, unknown>
  /** Arguments that are no flags. */
  positionals: string[]
  /** The arguments that stood behind `--`. */
  afterDashes: string[]
  /** `--help` or `-h` was given. */
  help: boolean
}

/** `--flag value`, `--flag=value`, a switch alone or with `=true|false`, `--no-switch`. `--` ends the flags. */
export function parseCommandLine(args: readonly string[], options: Options): CommandLine {
  const names = new Map(
    Object.entries(options).flatMap(([name, { short }]) => [
      [flagOf(name), name],
      ...(short ? [[`-${short}`, name] as const] : []),
    ]),
  )
  const line: CommandLine = { values: {}, positionals: [], afterDashes: [], help: false }
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') return { ...line, positionals: [...line.positionals, ...rest], afterDashes: rest }
    if (arg === '--help' || arg === '-h') line.help = true
    else if (arg.startsWith('-') && arg !== '-') readFlag(arg, rest)
    else line.positionals.push(arg)
  }
  return line

  function readFlag(arg: string, following: string[]): void {
    const equals = arg.indexOf('=')
    const given = equals < 0 ? arg : arg.slice(0, equals)
    const switchedOff = names.get(given.replace(/^--no-/, '--'))
    const negated = given.startsWith('--no-') && switchedOff !== undefined && isSwitch(switchedOff)
    const name = negated ? switchedOff : names.get(given)
    if (name === undefined) throw unknownFlag(given, [...names.keys()])
    const inline = equals < 0 ? undefined : arg.slice(equals + 1)
    const text = negated ? 'false' : (inline ?? (isSwitch(name) ? 'true' : following.shift()))
    if (text === undefined) throw new UsageError(`${given} needs a value: ${given} ${options[name]?.type.placeholder}`)
    try {
      line.values[name] = options[name]?.type.fromText(text, line.values[name])
    } catch (error) {
      throw new UsageError(`${given} ${(error as Error).message}`)
    }
  }

  function isSwitch(name: string): boolean {
    return options[name]?.type.placeholder === ''
  }
}

function unknownFlag(given: string, known: string[]): UsageError {
  const near = given.length > 2 ? nearest(given, known) : undefined
  return new UsageError(`unknown flag ${given}${near ? `; did you mean ${near}?` : ''} (--help lists all)`)
}
