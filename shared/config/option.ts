/**
 * Reads a value from a flag or variable, or from a config file. Both methods throw an Error that says what is expected
 * (`must be …`).
 */
export interface OptionType<Value> {
  /** Shown in `--help`, e.g. `PORT`. Empty for a switch, whose flag needs no value. */
  placeholder: string
  /** `soFar`: the value of the same flag before this one, for flags that can be given several times. */
  fromText(text: string, soFar?: Value): Value
  fromFile(value: unknown): Value
  /** Describes the value in a config file as a JSON schema; by default a text. */
  schema?: object
  /** Formats a default; if it is absent or returns undefined, no default is shown. */
  show?(value: Value): string | undefined
}

export interface Option<Value> {
  type: OptionType<Value>
  default: Value
  /** Explains the option in one line, without a full stop. */
  help: string
  /** A flag of one letter: `o` for `-o`. */
  short?: string
  /** Given as a flag alone: the variable and the key of this name mean something else. */
  flagOnly?: true
}

/**
 * By camelCase name, which is the key in the config file; the flag is its kebab-case, the variable `KUBESTAGE_` and its
 * upper snake case.
 */
export type Options = Readonly<Record<string, Option<unknown>>>

export type Values<Table extends Options> = {
  [Name in keyof Table]: Table[Name] extends Option<infer Value> ? Value : never
}

export const defaultsOf = <const Table extends Options>(table: Table): Values<Table> =>
  Object.fromEntries(Object.entries(table).map(([name, { default: value }]) => [name, value])) as Values<Table>

export function option<Value>(type: OptionType<Value>, settings: NoInfer<Omit<Option<Value>, 'type'>>): Option<Value> {
  return { type, ...settings }
}

export const flagOf = (name: string): string => `--${kebab(name)}`
export const variablePrefix = 'KUBESTAGE_'
export const variableOf = (name: string): string => `${variablePrefix}${kebab(name).replaceAll('-', '_').toUpperCase()}`

/** `maxConnections` → `max-connections`: the name of a flag without its dashes, and of a limit in metrics. */
export const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** A mistake of the user's: its message says where, what, and how to put it right, and is all that is shown. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  /** A program that ends because of the error exits with this code. */
  readonly exitCode: number = 1
}

/** A mistake in the command line, a variable or the config file: nothing has been tried yet. */
export class UsageError extends ConfigError {
  override name = 'UsageError'
  override readonly exitCode = 2
}
