import { ConfigError } from '../../shared/config/option.ts'

/** Throws, as upstream's programs do, on the first flag that is none of theirs or ours. */
export function refuseUnknown(flags: ReadonlyMap<string, string>, known: Pick<ReadonlySet<string>, 'has'>[]): void {
  for (const name of flags.keys()) {
    if (!known.some((names) => names.has(name)))
      throw new ConfigError(`unknown flag: --${name}; --help lists the known flags`)
  }
}

/**
 * Flags as Go's programs read them: `--name=value`, `--name value`, or `--name` alone for `true`. The last of several
 * counts.
 */
export function parseGoFlags(args: readonly string[]): Map<string, string> {
  const flags = new Map<string, string>()
  for (let index = 0; index < args.length; index++) {
    const [, name, value] = /^--?([^=]+)(?:=([\s\S]*))?$/.exec(args[index] ?? '') ?? []
    if (name === undefined) throw new Error(`unknown argument ${JSON.stringify(args[index])}`)
    const next = args[index + 1]
    if (value !== undefined) flags.set(name, value)
    else if (next === undefined || next.startsWith('-')) flags.set(name, 'true')
    else {
      flags.set(name, next)
      index++
    }
  }
  return flags
}
