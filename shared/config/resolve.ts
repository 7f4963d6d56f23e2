import { existsSync } from 'node:fs'
import { parseCommandLine } from './command-line.ts'
import type { ConfigFileKeys } from './config-file.ts'
import { defaultsOf, type Options, option, UsageError, type Values, variableOf } from './option.ts'
import { path } from './option-types.ts'

export interface Sources {
  args: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  /** Read when it exists and `--config` names no other. */
  defaultFile?: string
  /** Returns all keys that the file may have, because other programs read it as well. Default: this program's own. */
  fileKeys?(): Promise<Options>
  /** Loads a check of the whole file. Default: only what the program reads is checked. */
  schemaCheck?(): Promise<Pick<ConfigFileKeys, 'schemaMistakes'>>
}

export interface Resolved<Table extends Options> {
  values: Values<Table>
  positionals: string[]
  /** The arguments that stood behind `--`. */
  afterDashes: string[]
  help: boolean
  /** The config file that was read. */
  file?: string
  /** Says where each value comes from. */
  origins: Record<keyof Table, Origin>
}

export type Origin = 'default' | 'config file' | 'variable' | 'flag'

/** Names the config file; every program has this option. */
export const configOption = option(path, { default: '', help: 'Config file (YAML); flags and variables win over it' })

/** Flags win over variables, variables over the config file, the file over defaults. */
export async function resolveOptions<const Table extends Options>(
  table: Table,
  sources: Sources,
): Promise<Resolved<Table>> {
  const line = parseCommandLine(sources.args, table)
  const shared: Options = Object.fromEntries(Object.entries(table).filter(([, { flagOnly }]) => !flagOnly))
  const variables = fromVariables(shared, sources.env)
  const file = (line.values.config ?? variables.config ?? defaultFile(sources)) as string | undefined
  const layers: [Origin, Record<string, unknown>][] = [
    ['default', defaultsOf(table)],
    ['config file', file && !line.help ? await fromFile(file, shared, sources) : {}],
    ['variable', variables],
    ['flag', line.values],
  ]
  const values: Record<string, unknown> = {}
  const origins: Record<string, Origin> = {}
  for (const [origin, layer] of layers) {
    Object.assign(values, layer)
    for (const name of Object.keys(layer)) origins[name] = origin
  }
  return { ...line, file, values: values as Values<Table>, origins: origins as Record<keyof Table, Origin> }
}

/** Most starts have no file, and then need no YAML parser. */
async function fromFile(
  file: string,
  options: Options,
  { fileKeys, schemaCheck }: Sources,
): Promise<Record<string, unknown>> {
  const { readConfigFile } = await import('./config-file.ts')
  return readConfigFile(file, { options, keys: await fileKeys?.(), ...(await schemaCheck?.()) })
}

function defaultFile({ defaultFile }: Sources): string | undefined {
  return defaultFile && existsSync(defaultFile) ? defaultFile : undefined
}

function fromVariables(table: Options, env: Sources['env']): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, { type }] of Object.entries(table)) {
    const text = env[variableOf(name)]
    if (text === undefined) continue
    try {
      values[name] = type.fromText(text)
    } catch (error) {
      throw new UsageError(`${variableOf(name)} ${(error as Error).message}`)
    }
  }
  return values
}
